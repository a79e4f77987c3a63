// Measures by how much gradients take longer while messages are made and sent beside them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "kimesh/policy/round_time_search.h"
#include "recent_median.h"

namespace kimesh {

// Coding, applying and sending messages take cores from a gradient. Where several nodes share a
// machine, that costs far more than the coder's own time, and more with larger messages. So it is
// measured: gradients beside messages are compared with the last ones before the mesh began to
// overlap, or with the first ones after it ceased. While it overlaps the measurement goes on, since
// messages grow for many rounds. A machine that becomes slower meanwhile looks like costly
// messages; then the mesh ceases to overlap, and the first gradients alone correct that. Where it
// becomes faster, messages seem to cost nothing, until the mesh ceases to overlap for another
// reason.
// Thread: the engine's.
class StretchWatch {
 public:
  // The longest gradient of a round, in seconds per local step, and the pace of that round.
  void add(double compute_s, const Pace& pace) {
    RecentMedian& times = times_[pace.overlaps() ? 1 : 0];
    if (pace.overlaps() != overlapped_) {
      rounds_ = 0;
      times = {};
    }
    overlapped_ = pace.overlaps();
    ++rounds_;
    times.add(compute_s);
    if (overlapped_) {
      exchange_s_ = pace.exchange_s;
      local_steps_ = pace.local_steps;
    }
    const double alone = times_[0].value(), beside = times_[1].value();
    const bool is_measured =
        rounds_ >= kFirstMeasurement && (overlapped_ || rounds_ <= kLastMeasurementAlone);
    if (is_measured && alone > 0 && beside > 0) {
      is_known_ = true;
      seconds_ = local_steps_ * std::max(beside - alone, 0.0);
    } else if (!overlapped_) {
      seconds_ *= kKept;  // it may no longer hold: as it is forgotten, the mesh tries overlap again
    }
  }
  // Nothing, where it was not measured yet.
  [[nodiscard]] std::optional<OverlapStretch> measured() const {
    if (!is_known_) return std::nullopt;
    return OverlapStretch{seconds_, exchange_s_};
  }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.times_, self.overlapped_, self.rounds_, self.exchange_s_,
                    self.local_steps_, self.is_known_, self.seconds_);
  }

 private:
  // Gradients are compared from this round after a change on, because the next pace is chosen then.
  // A median ignores the first gradient, which may have begun before the change.
  static constexpr std::uint64_t kFirstMeasurement = 4;
  // After overlap has ended, gradients are compared up to this round, when their median has all its
  // values.
  static constexpr std::uint64_t kLastMeasurementAlone = RecentMedian::kCount;
  // Half is forgotten in 100 rounds.
  static constexpr double kKept = 0.993;

  std::array<RecentMedian, 2> times_;  // alone, and beside messages
  bool overlapped_ = false;            // in the last round
  std::uint64_t rounds_ = 0;           // since the last change
  double exchange_s_ = 0;              // of the last round that overlapped
  unsigned local_steps_ = 1;           // of the same
  bool is_known_ = false;
  double seconds_ = 0;
};

}  // namespace kimesh
