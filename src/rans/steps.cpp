#include "kimesh/rans/steps.h"

#include <array>
#include <bit>

namespace kimesh::rans {
namespace {

// The step of an interval that starts at 0.
constexpr Step step_of(std::uint32_t frequency) {
  if (frequency == 0) return {};
  if (frequency == 1) return {~std::uint64_t{0}, kProbabilityOne - 1, 1, 0};
  const auto bits = static_cast<unsigned>(std::bit_width(frequency - 1));
  // ceil(2^(63 + bits) / frequency), by long division in two steps
  const std::uint64_t high = (std::uint64_t{1} << (31 + bits)) / frequency;
  const std::uint64_t rest = (std::uint64_t{1} << (31 + bits)) % frequency;
  const std::uint64_t low = ((rest << 32) + frequency - 1) / frequency;
  return {(high << 32) + low, 0, static_cast<std::uint16_t>(frequency),
          static_cast<std::uint8_t>(bits - 1)};
}

// -log2(frequency / 2^12), one bit at a time: squaring the mantissa doubles its logarithm, and the
// next bit is 1 where the square reaches 2.
constexpr std::uint32_t cost_of(std::uint32_t frequency) {
  const auto whole = static_cast<unsigned>(std::bit_width(frequency)) - 1;
  std::uint64_t mantissa = std::uint64_t{frequency} << (31 - whole);
  std::uint32_t logarithm = whole;
  for (unsigned bit = 0; bit < kCostBits; ++bit) {
    mantissa = mantissa * mantissa >> 31;
    const bool over = mantissa >> 32 != 0;
    logarithm = logarithm << 1 | (over ? 1 : 0);
    mantissa >>= over ? 1 : 0;
  }
  return (kProbabilityBits << kCostBits) - logarithm;
}

struct ByFrequency {
  std::array<Step, kProbabilityOne> steps{};
  std::array<std::uint32_t, kProbabilityOne> costs{};
};
constexpr ByFrequency kByFrequency = [] {
  ByFrequency all;
  for (std::uint32_t f = 1; f < kProbabilityOne; ++f) {
    all.steps[f] = step_of(f);
    all.costs[f] = cost_of(f);
  }
  return all;
}();

}  // namespace

void fill_steps(const Ranges& ranges, std::span<Step, kSymbols> steps) {
  for (std::size_t s = 0; s < kSymbols; ++s) {
    steps[s] = kByFrequency.steps[ranges[s].frequency];
    steps[s].added += ranges[s].start;
  }
}

std::uint64_t cost_of(std::span<const std::uint32_t, kSymbols> seen,
                      std::span<const Step, kSymbols> steps) {
  const std::uint32_t escape = kByFrequency.costs[steps[kEscape].frequency];
  std::uint64_t sum = 0;
  for (std::uint32_t s = 0; s < kSymbols; ++s) {
    const std::uint32_t frequency = steps[s].frequency;
    sum += std::uint64_t{seen[s]} * (frequency > 0 ? kByFrequency.costs[frequency] : escape);
  }
  return sum;
}

}  // namespace kimesh::rans
