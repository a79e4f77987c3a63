// A bad memory cell.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Flips the lowest bit of the first element of what this end of a channel holds. Requires that it
// holds some, in the host's memory.
inline void flip_lowest_bit(const Vectors& node, ChannelIndex channel) {
  const std::span<const float> held = node.estimate(channel);
  auto& first = const_cast<float&>(held[0]);  // a bad cell asks nobody
  first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) ^ 1u);
}

}  // namespace kimesh
