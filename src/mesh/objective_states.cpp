#include "objective_states.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "kimesh/executor/node_state.h"

namespace kimesh {
namespace {

// The last bytes of a checkpoint that holds a state of the program's.
constexpr std::uint64_t kMark = 0x4574617453676f72;
using Tail = std::array<std::uint64_t, 2>;  // how many bytes the state has, and the mark

Error not_as_expected(Round round, const std::string& what) {
  return {ErrorCode::kMalformed,
          "the checkpoint of round " + std::to_string(round) + " holds " + what};
}

}  // namespace

std::vector<std::byte> ObjectiveStates::memory() {
  own_ = objective_.save();
  return states_.memory();
}

void ObjectiveStates::keep(StateId id, std::vector<std::byte> state) {
  if (!own_) return;  // the run is about to end
  const Tail tail{own_->size(), kMark};
  const auto bytes = std::as_bytes(std::span(tail));
  state.reserve(state.size() + own_->size() + bytes.size());
  state.insert(state.end(), own_->begin(), own_->end());
  state.insert(state.end(), bytes.begin(), bytes.end());
  states_.keep(id, std::move(state));
}

Result<std::unique_ptr<StateSource>> ObjectiveStates::load(StateId id) {
  const Round round = id.round;
  const auto source = states_.load(id);
  if (!source) return source.error();
  std::vector<std::byte> state((*source)->left());
  if (!(*source)->read(state)) return not_as_expected(round, "fewer bytes than its head says");
  Tail tail{};
  const std::size_t whole = state.size();
  if (whole >= sizeof tail)
    std::memcpy(tail.data(), state.data() + whole - sizeof tail, sizeof tail);
  if (tail[1] != kMark)
    return not_as_expected(round, "no state of the program, and this one asks for it");
  if (tail[0] > whole - sizeof tail) return not_as_expected(round, "a state that is cut short");
  const auto size = static_cast<std::size_t>(tail[0]);
  const std::size_t begin = whole - sizeof tail - size;
  const Status restored =
      objective_.restore(std::span<const std::byte>(state).subspan(begin, size));
  if (!restored) return not_as_expected(round, restored.error().message);
  state.resize(begin);
  return std::unique_ptr<StateSource>(std::make_unique<StateInMemory>(std::move(state)));
}

}  // namespace kimesh
