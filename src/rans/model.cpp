#include "kimesh/rans/model.h"

#include <numeric>
#include <utility>

namespace kimesh::rans {
namespace {

// The prior of a table weighs as much as this many symbols.
constexpr double kPriorWeight = 40;

// The mean of v >> s that the prior assumes, by table.
constexpr std::array<double, kScales> kInitialMeans = {0.2, 0.9, 1.9, 3.0, 4.6, 7.0, 10.0, 14.0};

double power(double base, unsigned exponent) {
  double result = 1;
  for (unsigned i = 0; i < exponent; ++i) result *= base;
  return result;
}

}  // namespace

// The prior is a mixture of three geometric distributions: weight 1/4 with a third of the mean, 1/2
// with the mean, 1/4 with four times the mean. It uses only operations that IEEE 754 rounds
// correctly, so that all machines get the same table.
Counts::Counts(unsigned scale) {
  const double mean = kInitialMeans[scale];
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
    left -= frequencies[s];  // may wrap below 0, by at most one for each symbol
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

const InitialTables& initial_tables() {
  static const InitialTables all = [] {
    InitialTables made = [&]<std::size_t... t>(std::index_sequence<t...>) {
      return InitialTables{{Counts(t % kScales)...}, {}};
    }
    (std::make_index_sequence<kTables>());
    for (std::size_t t = 0; t < kTables; ++t) made.ranges[t] = made.counts[t].ranges();
    return made;
  }();
  return all;
}

}  // namespace kimesh::rans
