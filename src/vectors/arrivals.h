// What the reduces of a shard bring in a round, where neither end of a channel keeps any of it for
// the next one (Feedback::kEf14 and kNone).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/events/work.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// One sum in place of what each child has brought, which would be another vector a child. Messages
// are added in the order of the children, whatever order they come in, so that every run has the
// same bits: those that come out of turn are held as the bytes that came, and decoded when it is
// their turn. Thread: that of actions.
class Arrivals {
 public:
  // `children`: the shard's reduce_in channels, at least one. `sum` has the shard's size.
  Arrivals(std::span<const ChannelIndex> children, kernels::MemoryBuffer sum);

  // Takes the message of a child. Where it is the child's turn, adds the message and those that
  // were held for the turns behind it. `work`: floats of the shard's size, which are overwritten.
  // Returns the digest of what the message brings, 0 where none is asked for. Errors: Malformed,
  // also for a second message of a child before the sum was read, and the sum has not changed then;
  // Io, where a device failed.
  [[nodiscard]] Result<std::uint64_t> take(const ApplyMessage& message, kernels::Memory& memory,
                                           kernels::MemorySpan work);
  // Whether every child has brought its part of `round`.
  [[nodiscard]] bool are_all_of(Round round) const;
  // The sum, where are_all_of() the round.
  [[nodiscard]] kernels::ConstMemorySpan sum() const { return sum_.floats(); }
  // ‖·‖² of what a child brought. Requires a message that asked for it and was added.
  [[nodiscard]] double energy(ChannelIndex child) const;
  // Begins the next sum.
  void clear();
  [[nodiscard]] bool is_first(ChannelIndex child) const {
    return children_.front().channel == child;
  }
  [[nodiscard]] std::size_t bytes_held() const;

 private:
  struct Child {
    ChannelIndex channel = 0;
    Round round = 0;
    Form form = Form::kDense;
    bool wants_energy = false;
    std::optional<Payload> held;
    double energy = 0;
  };
  [[nodiscard]] std::size_t position_of(ChannelIndex child) const;
  [[nodiscard]] Status add(Child& child, kernels::Memory& memory, kernels::MemorySpan work);

  std::vector<Child> children_;
  kernels::MemoryBuffer sum_;
  std::size_t added_ = 0;  // the number of children whose message is in the sum
};

}  // namespace kimesh
