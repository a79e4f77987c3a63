// How a symbol of some frequency is put on a state, and what that costs.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/rans/model.h"

namespace kimesh::rans {

// x becomes x / frequency * 2^12 + x % frequency + start, without a division (Granlund, Montgomery,
// 1994): the quotient is the upper half of x * inverse, shifted. For a frequency of 1 it is x - 1,
// which `added` makes good. Exact for x < 2^63.
struct Step {
  std::uint64_t inverse;
  std::uint32_t added;
  std::uint16_t frequency;
  std::uint8_t shift;

  [[nodiscard]] std::uint64_t push(std::uint64_t x) const {
    __extension__ using Wide = unsigned __int128;
    const auto upper = static_cast<std::uint64_t>(static_cast<Wide>(x) * inverse >> 64);
    return x + added + (upper >> shift) * (kProbabilityOne - frequency);
  }
};

// Those of a table.
void fill_steps(const Ranges& ranges, std::span<Step, kSymbols> steps);

// In 1/65536 bits, of symbols of a table that have come so often. One without a place in the table
// takes the escape's bits; those behind it are not in this.
inline constexpr unsigned kCostBits = 16;
[[nodiscard]] std::uint64_t cost_of(std::span<const std::uint32_t, kSymbols> come,
                                    std::span<const Step, kSymbols> steps);

}  // namespace kimesh::rans
