// What a channel does with the part that compression dropped, and what the messages of a gather are
// differences from.
#pragma once

#include <cstdint>

namespace kimesh {

// Of the reduce.
enum class Feedback : std::uint8_t {
  // Both ends hold an estimate; messages carry differences of gradients from it (Richtárik et al.,
  // 2021).
  kEf21,
  // Messages carry the worker's movement, which is its optimizer's step, learning rate included;
  // the sender of every hop adds what compression dropped to its next message (Seide et al., 2014).
  // The receiver keeps nothing.
  kEf14,
  kNone,  // as kEf21 without estimates: the dropped part is lost
};

// Of the gather.
enum class Gather : std::uint8_t {
  // Every hop compresses anew, as its link can carry. A node keeps an estimate of each child.
  kPerLink,
  // The owner's message is forwarded as it is, so that all copies of a shard are equal. It is sized
  // by the slowest link of its gather tree. No estimates are kept.
  kShared,
};

}  // namespace kimesh
