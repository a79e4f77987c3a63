// The adaptive model of the entropy coder. Both ends compute it from the numbers coded so far, so
// nothing of it is transmitted. A running mean of the last numbers predicts how large the next one
// is and selects a scale; every scale has a frequency table of 32 symbols.
//
// A number v is split by the shift s of its scale: v >> s becomes a symbol, the bits below s are
// raw.
//   symbols 0..7     v >> s itself
//   symbols 8..30    four symbols per octave from 8 to 447; the bits below the top three are raw
//   symbol 31        the escape: for larger v >> s, and for symbols whose frequency is 0. 5 bits
//                    hold the length of v + 1, then v + 1 follows without its leading one
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
inline constexpr unsigned kLengthBits = 5;  // the length behind an escape
inline constexpr unsigned kProbabilityBits = 12;
inline constexpr std::uint32_t kProbabilityOne = 1u << kProbabilityBits;
inline constexpr unsigned kScales = 8;  // tables for gaps, and as many for levels
inline constexpr std::uint32_t kNumberMax = 0x7fffffff;

// log2(v + 1) in units of 1/256, linear between powers of two, which the bits of a float32 give.
// Requires v <= kNumberMax.
inline std::int32_t log2_of_next(std::uint32_t v) {
  constexpr std::int32_t kOne = 127 << 8;  // log2(1)
  const auto next = static_cast<float>(std::int64_t{v} + 1);
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(next) >> 15) - kOne;
}

// The table that codes the symbol of a number, and the number of its low bits that are raw.
struct Scale {
  std::uint32_t table, shift;
};

// An exponential running mean of log2(v + 1) over the last numbers, with weight 1/8.
class Mean {
 public:
  // Starts from log2(expected + 1).
  explicit Mean(std::uint32_t expected = 0) : mean_(log2_of_next(expected)) {}
  void add(std::uint32_t v) { mean_ += (log2_of_next(v) - mean_) >> 3; }
  // Two tables per octave below 8; larger means use the last two tables and a larger shift.
  [[nodiscard]] Scale scale() const {
    const std::int32_t half_octaves = mean_ >> 7;
    const std::int32_t shift = std::max(0, (half_octaves - 6) >> 1);
    return {static_cast<std::uint32_t>(half_octaves - 2 * shift),
            static_cast<std::uint32_t>(shift)};
  }

 private:
  std::int32_t mean_;  // in 1/256 octaves
};

// The symbol of a number. Requires v <= kNumberMax.
inline constexpr std::uint32_t kHighMax = 447;  // the largest v >> s that has a symbol
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

// What a symbol below the escape says of its number: v = top << (shift + more) | raw bits.
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

// The interval [start, start + frequency) of kProbabilityOne that codes a symbol. A symbol of
// frequency 0 is coded as the escape.
struct Range {
  std::uint16_t start, frequency;
  bool operator==(const Range&) const = default;
};
using Ranges = std::array<Range, kSymbols>;

// The symbol counts of one scale, on top of a prior.
class Counts {
 public:
  explicit Counts(unsigned scale);
  void add(std::uint32_t symbol, std::uint64_t times = 1) { counts_[symbol] += times * kUnit; }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] Ranges ranges() const;

 private:
  static constexpr std::uint64_t kUnit =
      16;  // added for one symbol; the counts of the prior are fractions
  std::array<std::uint64_t, kSymbols> counts_;
};

// The tables of gaps by scale, then those of levels.
inline constexpr unsigned kTables = 2 * kScales;
using AllCounts = std::array<Counts, kTables>;
using AllRanges = std::array<Ranges, kTables>;

// The tables that every message starts from.
struct InitialTables {
  AllCounts counts;
  AllRanges ranges;
};
[[nodiscard]] const InitialTables& initial_tables();

// The tables are recomputed from the counts after this many elements, then each time the number of
// elements has doubled.
inline constexpr std::size_t kFirstRenewal = 16;

// Messages of kFewElements elements or more are coded in four interleaved streams, others in one.
inline constexpr std::size_t kStreams = 4;
inline constexpr std::size_t kFewElements = 4096;
inline std::size_t stream_count(std::size_t count) {
  return count < kFewElements ? 1 : kStreams;
}

}  // namespace kimesh::rans
