// The factor by which gradients take longer while messages are made and sent beside them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "recent_median.h"

namespace kimesh {

// Coding, applying and sending messages take cores from a gradient. Where several nodes share a
// machine, that costs far more than the coder's own time. So the factor is measured: when the mesh
// begins or ceases to overlap, the gradients of the last rounds before are compared with those of
// the first rounds after. Later rounds are not compared, since the machine may have become faster
// or slower. Thread: the engine's.
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
    times.add(compute_s);
    const double alone = times_[0].value(), beside = times_[1].value();
    const bool is_measured = rounds_ >= kFirstMeasurement && rounds_ <= kLastMeasurement;
    if (is_measured && alone > 0 && beside > 0) factor_ = std::max(beside / alone, 1.0);
    // The factor may no longer hold. As it is forgotten, the mesh tries overlap again.
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
  // The rounds after a change in which the factor is measured: from the next choice of a pace on,
  // until the median has all its values. A median ignores the first gradient, which may have begun
  // before the change.
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
