// The state of a node, which a checkpoint holds: the core's behind its length, then that of the
// vectors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Writes over `state`, whose memory is used again. Errors: Io, as Vectors::save.
[[nodiscard]] Status write_state(std::span<const std::byte> core, const Vectors& vectors,
                                 std::vector<std::byte>& state);
// Puts the vectors back, and returns the core's state. Errors: as Vectors::restore.
[[nodiscard]] Result<std::vector<std::byte>> read_state(StateReader& reader, Vectors& vectors);

// The two parts of write_state, for a node that goes on with its next gradient between them: what
// the gradient changes first. Between the two `state` is not touched.
[[nodiscard]] Result<std::size_t> begin_state(std::span<const std::byte> core,
                                              const Vectors& vectors,
                                              std::vector<std::byte>& state);
[[nodiscard]] Status end_state(std::size_t begun, const Vectors& vectors,
                               std::vector<std::byte>& state);

// A state in memory.
class StateInMemory final : public StateSource {
 public:
  explicit StateInMemory(std::vector<std::byte> state) : state_(std::move(state)) {}
  [[nodiscard]] std::size_t left() const override { return state_.size() - taken_; }
  [[nodiscard]] bool read(std::span<std::byte> to) override;

 private:
  std::vector<std::byte> state_;
  std::size_t taken_ = 0;
};

}  // namespace kimesh
