// What encoding a channel's messages takes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>

namespace kimesh {

// The time of an encoding is a part that every message takes, the passes over its elements and
// waiting for a core, and a part by its bytes. Only the second is saved by a smaller message: where
// both are counted by the byte, small messages seem expensive, budgets shrink, and messages seem
// more expensive still.
//
// The time of a byte is the median slope between pairs of the last messages whose sizes differ
// (Theil and Sen), which single late messages do not move. Thread: the core's.
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
  // Seconds; 0: there was no message yet. Never more than the messages took by the byte in all,
  // which is what counts where their sizes are too much alike to tell.
  [[nodiscard]] double per_byte() const {
    if (count_ == 0) return 0;
    std::array<double, kCount> whole{};
    for (std::size_t i = 0; i < count_; ++i) whole[i] = seconds_[i] / bytes_[i];
    const double in_all = lower_median(whole, count_);
    std::array<double, kCount*(kCount - 1) / 2> slopes{};
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const double more = bytes_[i] - bytes_[j];
        if (std::abs(more) < kUnlike * std::max(bytes_[i], bytes_[j])) continue;
        slopes[pairs++] = (seconds_[i] - seconds_[j]) / more;
      }
    if (pairs < kPairsMin) return in_all;
    return std::clamp(lower_median(slopes, pairs), 0.0, in_all);
  }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bytes_, self.seconds_, self.next_, self.count_);
  }
  [[nodiscard]] bool is_sound() const { return next_ < kCount && count_ <= kCount; }

 private:
  static constexpr double kUnlike = 0.25;      // of the larger of two sizes
  static constexpr std::size_t kPairsMin = 5;  // fewer slopes are noise

  template <std::size_t kSize>
  static double lower_median(std::array<double, kSize> values, std::size_t count) {
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
    std::nth_element(values.begin(), middle, end);
    return *middle;
  }

  std::array<double, kCount> bytes_{}, seconds_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace kimesh
