// By what factor gradients take longer where messages go beside them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "recent_median.h"

namespace kimesh {

// Coding, applying and sending take cores from a gradient. How much of it that costs depends on
// what else these cores do: with several nodes on a machine it is far more than the coder's own
// time. So it is measured: the gradients of the rounds before the mesh has begun or ceased to
// overlap are compared with those after. Later ones say nothing, since the machine may have become
// faster or slower. Thread: the engine's.
class OverlapStretch {
 public:
  // The longest gradient of the round, per local step, and whether messages went beside it.
  void add(double compute_s, bool overlaps) {
    RecentMedian& times = times_[overlaps ? 1 : 0];
    if (overlaps != overlapped_) {
      rounds_ = 0;
      times = {};
    }
    overlapped_ = overlaps;
    ++rounds_;
    times.add(compute_s);  // of medians: the first gradient after a change may be as before it
    const double alone = times_[0].value(), beside = times_[1].value();
    const bool is_measured = rounds_ >= kFirstMeasurement && rounds_ <= kLastMeasurement;
    if (is_measured && alone > 0 && beside > 0) factor_ = std::max(beside / alone, 1.0);
    // What was once measured may no longer hold: the mesh tries again.
    if (rounds_ > kLastMeasurement && !overlaps && is_known()) factor_ = 1 + kKept * (factor_ - 1);
  }
  [[nodiscard]] bool is_known() const { return factor_ > 0; }
  // At least 1; 0: not known.
  [[nodiscard]] double factor() const { return factor_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.times_, self.overlapped_, self.rounds_, self.factor_);
  }

 private:
  // From the rounds between two choices of a pace, and as long as the median gets better.
  static constexpr std::uint64_t kFirstMeasurement = 4;
  static constexpr std::uint64_t kLastMeasurement = RecentMedian::kCount;
  // Half of what is over 1 is forgotten in 100 rounds.
  static constexpr double kKept = 0.993;

  std::array<RecentMedian, 2> times_;  // alone, and beside messages
  bool overlapped_ = false;            // in the last round
  std::uint64_t rounds_ = 0;           // since the last change
  double factor_ = 0;
};

}  // namespace kimesh
