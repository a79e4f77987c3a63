// What a sender decides from counts alone. Only operations that IEEE 754 rounds correctly: the same
// on every machine.
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

// log2, straight between powers of two: at most 0.09 too small. Requires x > 0, normal.
inline double log2_about(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  return exponent + static_cast<double>(bits & ((std::uint64_t{1} << 52) - 1)) * 0x1p-52;
}

// How many elements there are of what magnitude: 16 bins an octave.
class Magnitudes {
 public:
  explicit Magnitudes(std::span<const float> values);
  // How many reach this magnitude, as if they lay evenly in each bin. Requires a number >= 0.
  [[nodiscard]] double at_least(double magnitude) const;
  // The bin of the `rank`-th largest: its edges, and how many elements are larger than all in it.
  struct Bin {
    float low, high;
    std::size_t above;
  };
  [[nodiscard]] Bin of_rank(std::size_t rank) const;
  // Calls visit(count, magnitude) for each bin that has elements, from the largest, while it says
  // so.
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
  std::array<std::uint32_t, kBins + 1> reaching_{};  // by bin: its elements and all larger ones
  std::size_t end_ = 0;                              // behind the last bin that has elements
};

// Where the dead zone of a message ends, in sixteenths of the step D. `at_least` tells how many of
// `elements` reach a magnitude, in steps. For centroids: an element at the zone's end T is worth
// its bits as bits are worth elsewhere, T^2 - (T - r)^2 = b D^2 ln(2) / 6, with r 0.42 D above T.
// Inner edges lose so much within the bins that finer bins, beside a dead zone of 1.25 D, are best
// at every rate.
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
