// How long a channel's messages take to encode, by their size.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <tuple>

#include "kimesh/util/quantile.h"

namespace kimesh {

// The time of an encoding has two parts. One is the same for every message: the passes over its
// elements, and waiting for a core. The other grows with the bytes, and a smaller message saves
// only that part. If the whole time were divided by the bytes, small messages would seem expensive,
// budgets would shrink, and messages would seem more expensive still.
//
// The time of a byte is the median slope between pairs of recent messages whose sizes differ (the
// Theil-Sen estimator), which a single late message does not change. Thread: the core's.
class CodingTime {
 public:
  static constexpr std::size_t kCount = 8;

  void add(double bytes, double seconds) {
    bytes_[next_] = bytes;
    seconds_[next_] = seconds;
    next_ = (next_ + 1) % kCount;
    count_ = std::min(count_ + 1, kCount);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  // Seconds that one byte more takes; 0: there was no message yet. The whole time over the bytes is
  // an upper bound, and the result where the sizes are too similar for a slope.
  [[nodiscard]] double per_byte() const {
    if (count_ == 0) return 0;
    std::array<double, kCount> ratios{};
    for (std::size_t i = 0; i < count_; ++i) ratios[i] = seconds_[i] / bytes_[i];
    const double whole = lower_median(std::span(ratios).first(count_));
    std::array<double, kCount*(kCount - 1) / 2> slopes{};
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double difference = bytes_[i] - bytes_[j];
        if (std::abs(difference) < kLeastDifference * std::max(bytes_[i], bytes_[j])) continue;
        slopes[pairs++] = (seconds_[i] - seconds_[j]) / difference;
      }
    if (pairs < kPairsMin) return whole;
    return std::clamp(lower_median(std::span(slopes).first(pairs)), 0.0, whole);
  }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bytes_, self.seconds_, self.next_, self.count_);
  }
  [[nodiscard]] bool is_sound() const { return next_ < kCount && count_ <= kCount; }

 private:
  static constexpr double kLeastDifference = 0.25;  // of two sizes, relative to the larger one
  static constexpr std::size_t kPairsMin = 5;       // fewer slopes are noise

  std::array<double, kCount> bytes_{}, seconds_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace kimesh
