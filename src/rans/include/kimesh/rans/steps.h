// How a symbol is pushed on a state, by its frequency, and how many bits that costs.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/rans/model.h"

namespace kimesh::rans {

// push(x) is x / frequency * 2^12 + x % frequency + start, computed without a division (Granlund
// and Montgomery, "Division by invariant integers using multiplication", 1994): the quotient is the
// upper half of x * inverse, shifted. For frequency 1 that product gives x - 1, which `added`
// corrects. Exact for x < 2^63.
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

// Computes the steps of one table.
void fill_steps(const Ranges& ranges, std::span<Step, kSymbols> steps);

// The cost of coding each symbol of a table as often as `seen` says, in units of 1/65536 bit. A
// symbol of frequency 0 costs as much as the escape; the raw bits behind the escape are not
// counted.
inline constexpr unsigned kCostBits = 16;
[[nodiscard]] std::uint64_t cost_of(std::span<const std::uint32_t, kSymbols> seen,
                                    std::span<const Step, kSymbols> steps);

}  // namespace kimesh::rans
