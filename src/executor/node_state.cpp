#include "kimesh/executor/node_state.h"

#include <algorithm>

namespace kimesh {

Result<std::size_t> begin_state(std::span<const std::byte> core, const Vectors& vectors,
                                std::vector<std::byte>& state) {
  // Asked for at once, and touched as it is filled: the second part's pages cost the pause nothing.
  // The core's part grows from one checkpoint to the next, and the memory has room for twice as
  // much. Memory that is too small is given back first: reserve() would copy the old state.
  constexpr std::size_t kNumbersBytes = 4096;  // beside floats: the numbers of few optimizers
  const std::size_t needed = vectors.state_bytes() + core.size() + kNumbersBytes;
  if (state.capacity() < needed) {
    state = {};
    state.reserve(needed + core.size());
  }
  StateWriter writer(state);
  writer.put(std::uint64_t{core.size()});
  writer.bytes(core);
  if (const Status saved = vectors.save_changing(writer); !saved) return saved.error();
  return writer.pause();
}

Status end_state(std::size_t begun, const Vectors& vectors, std::vector<std::byte>& state) {
  StateWriter writer(state, begun);
  return vectors.save_rest(writer);
}

Status write_state(std::span<const std::byte> core, const Vectors& vectors,
                   std::vector<std::byte>& state) {
  const auto begun = begin_state(core, vectors, state);
  return begun ? end_state(*begun, vectors, state) : Status(begun.error());
}

Result<std::vector<std::byte>> read_state(StateReader& reader, Vectors& vectors) {
  std::uint64_t size = 0;
  reader.get(size);
  reader.require(size <= reader.left());
  std::vector<std::byte> core(reader.ok() ? static_cast<std::size_t>(size) : 0);
  reader.fill(core);
  if (const Status restored = vectors.restore(reader); !restored) return restored.error();
  return core;
}

bool StateInMemory::read(std::span<std::byte> to) {
  if (to.size() > left()) return false;
  std::ranges::copy(std::span(state_).subspan(taken_, to.size()), to.begin());
  taken_ += to.size();
  return true;
}

}  // namespace kimesh
