// The median of the last few values: it follows a change within three of them, and leaves a single
// hiccup out. And their mean, which leaves nothing out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <tuple>

#include "kimesh/util/quantile.h"

namespace kimesh {

class RecentMedian {
 public:
  static constexpr std::size_t kCount = 5;

  void add(double value) {
    values_[next_] = value;
    next_ = (next_ + 1) % kCount;
    count_ = std::min(count_ + 1, kCount);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  // lower_median(); 0: there was no value yet.
  [[nodiscard]] double value() const {
    if (count_ == 0) return 0;
    std::array<double, kCount> values = values_;
    return lower_median(std::span(values).first(count_));
  }
  // 0: there was no value yet.
  [[nodiscard]] double mean() const {
    if (count_ == 0) return 0;
    return std::accumulate(values_.begin(), values_.begin() + count_, 0.0) /
           static_cast<double>(count_);
  }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.values_, self.next_, self.count_);
  }
  [[nodiscard]] bool is_sound() const { return next_ < kCount && count_ <= kCount; }

 private:
  std::array<double, kCount> values_{};
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace kimesh
