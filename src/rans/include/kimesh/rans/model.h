// What the entropy coder knows about the numbers that it codes, the same at both ends: how large
// the next one will be, from the last few, and how often each of 32 symbols comes then. Nothing of
// it travels.
//
// A number v is cut by the shift s of its scale: v >> s becomes a symbol, the rest raw bits.
//   symbols 0..7     v >> s itself
//   symbols 8..30    four an octave from 8 to 447, with the bits below the top three raw
//   symbol 31        more, or a number whose symbol is too rare to have a place in the table:
//                    5 bits of length (of v + 1), then v + 1 without its leading one
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kimesh::rans {

inline constexpr unsigned kSymbols = 32;
inline constexpr unsigned kEscape = kSymbols - 1;
inline constexpr unsigned kLengthBits = 5;  // of an escape
inline constexpr unsigned kProbabilityBits = 12;
inline constexpr std::uint32_t kProbabilityOne = 1u << kProbabilityBits;
inline constexpr unsigned kScales = 8;  // tables for each kind of number
inline constexpr std::uint32_t kNumberMax = 0x7fffffff;

// log2(v + 1) in 1/256, straight between powers of two: how a float32 is written. Requires
// v <= kNumberMax.
inline std::int32_t log2_of_next(std::uint32_t v) {
  constexpr std::int32_t kOne = 127 << 8;  // log2(1)
  const auto next = static_cast<float>(std::int64_t{v} + 1);
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(next) >> 15) - kOne;
}

// Which table a number's symbol is coded with, and how many of its low bits are raw.
struct Scale {
  std::uint32_t table, shift;
};

// A running mean of the logarithms of the last numbers.
class Mean {
 public:
  // As if many numbers of about `expected` had come.
  explicit Mean(std::uint32_t expected = 0) : mean_(log2_of_next(expected)) {}
  void add(std::uint32_t v) { mean_ += (log2_of_next(v) - mean_) >> 3; }
  // Two tables an octave below 8, and the last two for all above.
  [[nodiscard]] Scale scale() const {
    const std::int32_t half_octaves = mean_ >> 7;
    const std::int32_t shift = std::max(0, (half_octaves - 6) >> 1);
    return {static_cast<std::uint32_t>(half_octaves - 2 * shift),
            static_cast<std::uint32_t>(shift)};
  }

 private:
  std::int32_t mean_;  // 1/256 octaves
};

// The symbol of a number. Requires v <= kNumberMax.
inline constexpr std::uint32_t kHighMax = 447;  // of v >> s that has a symbol of its own
inline constexpr std::array<std::uint8_t, kHighMax + 2> kSymbolsOfHigh = [] {
  std::array<std::uint8_t, kHighMax + 2> all{};
  for (std::uint32_t high = 0; high <= kHighMax; ++high) {
    const auto exponent = static_cast<std::uint32_t>(31 - std::countl_zero(high | 1));
    const std::uint32_t symbol =
        high < 8 ? high : 8 + (exponent - 3) * 4 + ((high >> (exponent - 2)) & 3);
    all[high] = static_cast<std::uint8_t>(symbol);
  }
  all[kHighMax + 1] = kEscape;
  return all;
}();
inline std::uint32_t symbol_of(std::uint32_t v, std::uint32_t shift) {
  return kSymbolsOfHigh[std::min(v >> shift, kHighMax + 1)];
}

// How symbols below the escape continue: v = top << (shift + more) | raw bits.
struct Continuation {
  std::uint8_t top, more;
};
inline constexpr std::array<Continuation, kSymbols> kContinuations = [] {
  std::array<Continuation, kSymbols> all{};
  for (std::uint8_t s = 0; s < 8; ++s) all[s] = {s, 0};
  for (std::uint8_t s = 8; s < kSymbols; ++s)
    all[s] = {static_cast<std::uint8_t>(4 + (s - 8) % 4),
              static_cast<std::uint8_t>(1 + (s - 8) / 4)};
  return all;
}();

// A symbol's share [start, start + frequency) of kProbabilityOne. Of a frequency of 0: it escapes.
struct Range {
  std::uint16_t start, frequency;
  bool operator==(const Range&) const = default;
};
using Ranges = std::array<Range, kSymbols>;

// The symbols of one scale that have come so far; at first what is usual there.
class Counts {
 public:
  explicit Counts(unsigned scale);
  void add(std::uint32_t symbol, std::uint64_t times = 1) { counts_[symbol] += times * kUnit; }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] Ranges ranges() const;

 private:
  static constexpr std::uint64_t kUnit = 16;  // of one symbol: the first shares are fractions
  std::array<std::uint64_t, kSymbols> counts_;
};

// By kind (gaps, levels) and scale.
inline constexpr unsigned kTables = 2 * kScales;
using AllCounts = std::array<Counts, kTables>;
using AllRanges = std::array<Ranges, kTables>;

// What every message starts from.
struct Usual {
  AllCounts counts;
  AllRanges ranges;
};
[[nodiscard]] const Usual& usual();

// Tables are made anew from the counts once so many elements are coded; then after twice as many.
inline constexpr std::size_t kFirstRenewal = 16;

// Elements are dealt to lanes that are coded side by side, in runs: from so many on to four.
inline constexpr std::size_t kLanes = 4;
inline constexpr std::size_t kFewElements = 4096;
inline std::size_t lanes_of(std::size_t count) {
  return count < kFewElements ? 1 : kLanes;
}

}  // namespace kimesh::rans
