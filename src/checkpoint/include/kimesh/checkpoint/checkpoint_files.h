// The checkpoints of one node in its folder, written beside training by a thread of their own.
//
// Memory: one state besides the node's own vectors. It is used again by the next checkpoint, which
// waits until the disk has the one before. Disk: the newest `keep` files and those that some node
// may still need, at most two more, and the one that is being written. Of those that were set aside
// the last two of each kind (.damaged, .alone) stay.
#pragma once

#include <memory>
#include <thread>
#include <variant>

#include "kimesh/checkpoint/checkpoint_file.h"
#include "kimesh/executor/executor.h"
#include "kimesh/util/bounded_queue.h"
#include "kimesh/util/thrown.h"

namespace kimesh {

struct CheckpointFolder {
  std::string path;
  CheckpointOwner owner;
  std::size_t keep = 2;
  // Files that tell of the rounds up to a checkpoint: the disk has them before it.
  std::vector<std::string> logs;
};

// Thread: as HeldStates says.
class CheckpointFiles final : public HeldStates {
 public:
  // Makes the folder, and looks for the newest file from which the node may go on. Errors: as
  // newest_checkpoint, and Io.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointFiles>> open(CheckpointFolder folder);
  ~CheckpointFiles() override;  // as finish()
  // Waits until what was kept is written. The last call. Errors: those of the files.
  [[nodiscard]] Status finish();

  // Those that were found damaged when the folder was opened, all of them later than newest().
  [[nodiscard]] const std::vector<Round>& damaged() const { return damaged_; }
  // The lineage of the newest one that there was then; 0: there was none.
  [[nodiscard]] std::uint64_t lineage() const { return lineage_; }

  [[nodiscard]] std::vector<std::byte> memory() override;
  void keep(StateId id, std::vector<std::byte> state) override;
  // Removes checkpoints of later rounds: the run goes on from this one. Those that are damaged are
  // kept for who wants to look at them, as ROUND.checkpoint.damaged. Errors: Io besides.
  [[nodiscard]] Result<std::unique_ptr<StateSource>> load(StateId id) override;
  // They are kept as ROUND.checkpoint.alone.
  [[nodiscard]] Status set_aside() override;
  [[nodiscard]] Result<std::optional<Round>> newest() override;
  void all_hold(Round round) override;

 private:
  struct Write {
    StateId id;
    std::vector<std::byte> state;
  };
  struct Tidy {
    Round common = 0;
  };
  CheckpointFiles(CheckpointFolder folder, SoundCheckpoint found);
  void run();
  void carry_out(std::variant<Write, Tidy>& job);
  [[nodiscard]] Status write(const Write& job) const;
  [[nodiscard]] CheckpointOwner owner_in(StateId id) const;
  void tidy() const;
  [[nodiscard]] Status remove_later_than(Round round) const;

  const CheckpointFolder folder_;
  const std::vector<Round> damaged_;
  const std::uint64_t lineage_;
  std::optional<Round> newest_;  // the engine's: as told last
  std::optional<Error> failed_;  // the engine's
  std::optional<Round> common_;  // the writer's: all nodes hold it
  BoundedQueue<std::variant<Write, Tidy>> jobs_;
  BoundedQueue<std::vector<std::byte>> spare_;
  BoundedQueue<Result<Round>> written_;
  Thrown thrown_;  // by the writer, which writes no more
  std::thread thread_;
};

}  // namespace kimesh
