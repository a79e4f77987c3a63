// One node's state at the end of a round, as a file: runs/NAME/checkpoints/NODE/ROUND.checkpoint.
// All numbers are little-endian.
//
//   file = magic format version node round lineage config topology size
//          head_digest state state_digest
//   magic         the eight bytes "kimeshCP"
//   format        u32, kCheckpointFormat
//   version, node text: u64 bytes, then these
//   round         u32, the last one that is in the state
//   lineage       u64, the number of the run, or of its going on, that has written it
//                 (round/control.h)
//   config, topology
//                 u64 each, the digests that nodes compare in their hello
//   size          u64, bytes of the state
//   head_digest   u64, XXH3 of all before it
//   state         the core's, then that of the vectors, as StateWriter writes them
//   state_digest  u64, XXH3 of the state
//
// A file is written under another name and renamed once the disk holds it, so that a file of this
// name is whole unless the disk has lost something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {

// Rises with every change of what a core, its parts or the vectors save, or of the plan.
inline constexpr std::uint32_t kCheckpointFormat = 23;
// Whose checkpoints these are. A node goes on only from one that was written with the same.
struct CheckpointOwner {
  std::string version;  // of kimesh
  std::string node;
  std::uint64_t config_digest = 0, topology_digest = 0;
  std::uint64_t lineage = 0;  // 0: any, where one is opened
};

// Writes the file durably: it is there after a loss of power, whole. Errors: Io; what was there
// under this name is untouched then.
[[nodiscard]] Status write_checkpoint(const std::string& path, const CheckpointOwner& owner,
                                      Round round, std::span<const std::byte> state);
// The state in the file, whose bytes were looked through; it is read in pieces. Errors, a sentence:
// Malformed, where the file is missing or damaged; Io, where it cannot be opened; UserInput, where
// it is of another format, version, node, config, topology, round or lineage.
[[nodiscard]] Result<std::unique_ptr<StateSource>> open_checkpoint(const std::string& path,
                                                                   const CheckpointOwner& owner,
                                                                   Round round);

// The lineage that the head of a file says. Errors: as open_checkpoint.
[[nodiscard]] Result<std::uint64_t> lineage_of_checkpoint(const std::string& path);

// FOLDER/ROUND.checkpoint, and the rounds of the files of this form in a folder, ascending.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, Round round);
[[nodiscard]] std::vector<Round> checkpoint_rounds(const std::string& folder);

// Where a node may go on from.
struct SoundCheckpoint {
  std::optional<Round> newest;  // that is not damaged; nothing: there is none
  std::uint64_t lineage = 0;    // of that one
  std::vector<Round> damaged;   // later ones, ascending
};
// Looks through the files of a folder, from the newest to the first that is sound. Errors:
// UserInput and Io, as open_checkpoint.
[[nodiscard]] Result<SoundCheckpoint> newest_checkpoint(const std::string& folder,
                                                        const CheckpointOwner& owner);

// The checkpoints of one node, and whose they are.
struct CheckpointPlace {
  std::string folder;
  CheckpointOwner owner;
};
// The newest round of which every one of these folders holds a sound checkpoint; nothing: there is
// none. Errors: UserInput and Io, as open_checkpoint; UserInput, where those of the round are not
// all of one lineage.
[[nodiscard]] Result<std::optional<Round>> common_checkpoint(
    const std::vector<CheckpointPlace>& places);
// The oldest such round, from `least` on.
[[nodiscard]] Result<std::optional<Round>> oldest_common_checkpoint(
    const std::vector<CheckpointPlace>& places, Round least);

}  // namespace kimesh
