// The local steps of a round where nodes compute at unlike speeds: one that is faster than the
// slowest takes several times the mesh's number while that one takes its own.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "kimesh/round/control.h"
#include "recent_median.h"

namespace kimesh {

// The local steps of one gradient. LocalSteps (optimizer/local_steps.h) is the same where the
// topology gives nodes their numbers.
struct RoundSteps {
  unsigned slowest = 1;      // H, Verdict::local_steps, which the slowest node takes
  unsigned multiple = 1;     // μ_i, of this node
  double mean_multiple = 1;  // Σ_j ω_j μ_j
  [[nodiscard]] unsigned own() const { return slowest * multiple; }
  [[nodiscard]] double of_mesh() const { return slowest * mean_multiple; }
  // What this node's movement is multiplied with, as in FedNova.
  [[nodiscard]] double scale() const { return mean_multiple / multiple; }
};

// Verdict::mean_multiple of a sum of ControlVector::multiple. Ones do not sum to 1 exactly.
[[nodiscard]] inline double mean_multiple_of(double sum) {
  constexpr double kRounding = 1e-6;
  return sum > 1 + kRounding ? std::min<double>(sum, kMultipleMax) : 1;
}

// The multiple that a node offers, and the one that counts. Thread: that of the core.
class StepMultiple {
 public:
  // Takes the time of one local step of this node, in seconds.
  void add(double took_s) { times_.add(took_s); }
  // The median of the last five; 0: there was none.
  [[nodiscard]] double step_s() const { return times_.value(); }
  // The multiple to offer where the slowest node takes `slowest_s` for a local step: the largest
  // with which this node's gradient takes a twentieth longer than that one's at most. More than
  // before is offered only at the second call in a row that finds room for it, since times on
  // shared cores go to and fro; less once its gradient takes a quarter longer.
  [[nodiscard]] unsigned wanted(double slowest_s) {
    const double own_s = step_s();
    if (!(own_s > 0) || !(slowest_s > 0)) return offered_;
    constexpr double kLonger = 1.05, kTooLong = 1.25;
    const auto fits = [&](double share) {
      return static_cast<unsigned>(std::clamp(share * slowest_s / own_s, 1.0, 1.0 * kMultipleMax));
    };
    const bool may_grow = fits(kLonger) > offered_;
    const bool grows = std::exchange(may_grow_, may_grow) && may_grow;
    return grows ? fits(kLonger) : std::min(offered_, fits(kTooLong));
  }
  void offer(unsigned multiple) { offered_ = multiple; }
  [[nodiscard]] unsigned offered() const { return offered_; }
  // Called with every verdict, whose mean includes what this node has offered. What it offers later
  // counts with the next verdict.
  void agree() { agreed_ = offered_; }
  [[nodiscard]] unsigned agreed() const { return agreed_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.times_, self.offered_, self.agreed_, self.may_grow_);
  }
  [[nodiscard]] bool is_sound() const {
    return offered_ >= 1 && offered_ <= kMultipleMax && agreed_ >= 1 && agreed_ <= kMultipleMax;
  }

 private:
  RecentMedian times_;
  unsigned offered_ = 1, agreed_ = 1;
  bool may_grow_ = false;  // as the last call of wanted() found
};

}  // namespace kimesh
