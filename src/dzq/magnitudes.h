// What the sender decides from a histogram of magnitudes. All arithmetic uses operations that
// IEEE 754 rounds correctly, so that every machine decides the same.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kimesh/codec/setting.h"

namespace kimesh::dzq {

// log2(x), linear between powers of two; at most 0.09 too small. Requires a normal x > 0.
inline double log2_about(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  return exponent + static_cast<double>(bits & ((std::uint64_t{1} << 52) - 1)) * 0x1p-52;
}

// A histogram of magnitudes with 16 bins per octave.
class MagnitudeCounts {
 public:
  explicit MagnitudeCounts(std::span<const float> values);
  // The number of elements whose magnitude is at least this, spread evenly over each bin. Requires
  // a number >= 0.
  [[nodiscard]] double at_least(double magnitude) const;
  // The bin of the `rank`-th largest element: its edges, and the number of elements above the bin.
  struct Bin {
    float low, high;
    std::size_t above;
  };
  [[nodiscard]] Bin of_rank(std::size_t rank) const;
  // Calls visit(count, magnitude) for each bin that has elements, from the largest magnitude down,
  // until visit returns false.
  template <typename Visit>
  void for_bins(Visit visit) const {
    for (std::size_t bin = end_; bin-- > 0;) {
      const std::uint32_t count = reaching_[bin] - reaching_[bin + 1];
      if (count > 0 && !visit(count, edge(bin) * 1.02)) return;
    }
  }

 private:
  static constexpr unsigned kShift = 19;
  static constexpr std::size_t kBins = std::size_t{1} << (31 - kShift);
  [[nodiscard]] static double edge(std::size_t bin) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bin) << kShift);
  }
  std::array<std::uint32_t, kBins + 1> reaching_{};  // by bin: elements in it or above
  std::size_t end_ = 0;                              // behind the last bin that has elements
};

// The end T of a message's dead zone, in sixteenths of the step D. at_least(x) is the number of
// elements whose magnitude is at least x D; `elements` is the number of all. Rounding to nearest:
// an element at T gains T^2 - (T - r)^2 when it is sent as the centroid r of the first bin. T is
// where that gain pays for its b bits at the price that bits have in a uniform quantiser at high
// rate, b D^2 ln(2) / 6. The iteration starts from T = D. Rounding towards zero: values at inner
// edges lose so much within a bin that a dead zone of 1.25 D with finer bins was best at every
// measured rate.
template <typename AtLeast>
std::uint32_t dead_zone_of(Rounding rounding, double elements, AtLeast at_least) {
  constexpr std::uint32_t kInner = 20;
  if (rounding == Rounding::kTowardsZero) return kInner;
  double relative = 1;
  for (int refinement = 0; refinement < 3; ++refinement) {
    const double sent = std::max(at_least(relative), 1.0), above = at_least(relative + 1);
    const double first = std::max(sent - above, 1.0);
    double centroid = 0.5 * 0.25;  // above T, by the trapezoid rule
    for (const double place : {0.25, 0.5, 0.75})
      centroid += 0.25 * std::max(at_least(relative + place) - above, 0.0) / first;
    const double position = log2_about(std::max(elements - sent, 1.0) / sent);
    const double bits = position + 1 + log2_about(sent / first);
    const double square = centroid * centroid + 0.1155 * std::max(bits, 0.0);
    relative = std::clamp(std::sqrt(square), 0.5, 1.125);
  }
  return static_cast<std::uint32_t>(16 * relative + 0.5);
}

}  // namespace kimesh::dzq
