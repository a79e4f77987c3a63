#include "kimesh/rans/model.h"

#include <numeric>
#include <utility>

namespace kimesh::rans {
namespace {

// What a table starts from weighs as much as so many symbols.
constexpr double kPriorWeight = 40;

// The usual mean of v >> s, by table.
constexpr std::array<double, kScales> kUsualMeans = {0.2, 0.9, 1.9, 3.0, 4.6, 7.0, 10.0, 14.0};

double power(double base, unsigned exponent) {
  double result = 1;
  for (unsigned i = 0; i < exponent; ++i) result *= base;
  return result;
}

}  // namespace

// A quarter geometric with a third of the mean, half with the mean, a quarter with four times it.
// Only operations that IEEE 754 rounds correctly: the same everywhere.
Counts::Counts(unsigned scale) {
  const double mean = kUsualMeans[scale];
  const double means[] = {mean / 3, mean, mean * 4}, weights[] = {0.25, 0.5, 0.25};
  for (unsigned s = 0; s < kSymbols; ++s) {
    const Continuation c = kContinuations[s];
    const unsigned low = unsigned{c.top} << c.more, high = (unsigned{c.top} + 1) << c.more;
    double share = 0;
    for (unsigned k = 0; k < 3; ++k) {
      const double ratio = means[k] / (means[k] + 1);
      share += weights[k] * (power(ratio, low) - (s == kEscape ? 0 : power(ratio, high)));
    }
    counts_[s] = static_cast<std::uint64_t>(share * kPriorWeight * kUnit);
  }
}

std::uint64_t Counts::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

Ranges Counts::ranges() const {
  const std::uint64_t all = total();
  std::array<std::uint32_t, kSymbols> frequencies;
  std::uint32_t left = kProbabilityOne;
  for (std::size_t s = 0; s < kSymbols; ++s) {
    frequencies[s] = static_cast<std::uint32_t>((counts_[s] * kProbabilityOne + all / 2) / all);
    if (s == 0 || s == kEscape) frequencies[s] = std::max(frequencies[s], 1u);
    left -= frequencies[s];  // perhaps under 0, by at most one for each symbol
  }
  *std::ranges::max_element(frequencies) += left;
  Ranges ranges;
  std::uint32_t start = 0;
  for (std::size_t s = 0; s < kSymbols; ++s) {
    ranges[s] = {static_cast<std::uint16_t>(start), static_cast<std::uint16_t>(frequencies[s])};
    start += frequencies[s];
  }
  return ranges;
}

const Usual& usual() {
  static const Usual all = [] {
    Usual made = [&]<std::size_t... t>(std::index_sequence<t...>) {
      return Usual{{Counts(t % kScales)...}, {}};
    }
    (std::make_index_sequence<kTables>());
    for (std::size_t t = 0; t < kTables; ++t) made.ranges[t] = made.counts[t].ranges();
    return made;
  }();
  return all;
}

}  // namespace kimesh::rans
