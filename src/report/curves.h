// A run's records as curves of bounded length, for a page.
#pragma once

#include <cmath>
#include <vector>

#include "kimesh/report/history.h"

namespace kimesh {

// Equal groups of rounds, each of which becomes a point.
class Bins {
 public:
  // Rounds [first, end) in at most `count` groups, each of a multiple of `unit` rounds.
  Bins(Round first, Round end, std::size_t count, Round unit = 1);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Round rounds() const { return end_ - first_; }
  [[nodiscard]] bool holds(Round round) const { return round >= first_ && round < end_; }
  // Requires holds(round).
  [[nodiscard]] std::size_t of(Round round) const { return (round - first_) / width_; }
  [[nodiscard]] Round begin(std::size_t bin) const {
    return first_ + static_cast<Round>(bin) * width_;
  }

 private:
  Round first_, end_, width_;
  std::size_t size_;
};

// The mean of each bin; NaN where nothing was added. What is NaN does not count.
class Means {
 public:
  explicit Means(std::size_t bins) : sums_(bins), counts_(bins) {}
  void add(std::size_t bin, double value) {
    if (std::isnan(value)) return;
    sums_[bin] += value;
    ++counts_[bin];
  }
  [[nodiscard]] std::vector<double> values() const;

 private:
  std::vector<double> sums_;
  std::vector<std::size_t> counts_;
};

// Whether the curves of times and bytes count the round. Dense messages, which a closing round may
// have, would leave all others flat.
[[nodiscard]] bool shows_times(const Bins& bins, const RoundRecord& round);

}  // namespace kimesh
