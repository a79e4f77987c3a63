#include "kimesh/policy/loss_guard.h"

#include <algorithm>
#include <cmath>

namespace kimesh {
namespace {

// The weight of the last window in the running mean of variances: eight losses alone tell a
// variance badly.
constexpr double kShareOfWindow = 0.25;

}  // namespace

void LossGuard::add(double loss, bool unlike, bool even) {
  if (!std::isfinite(loss)) return;  // ends the run, or comes from a broken peer
  sum_ += loss;
  squares_ += loss * loss;
  if (++count_ == kLossWindow) end_window(unlike, even);
}

void LossGuard::end_window(bool unlike, bool even) {
  constexpr double kCount = kLossWindow;
  const double mean = sum_ / kCount;
  const double variance = std::max(squares_ / kCount - mean * mean, 0.0) / (kCount - 1);
  sum_ = squares_ = 0;
  count_ = 0;
  if (!has_first_) {
    has_first_ = true;
    first_ = best_ = mean;
    variance_ = variance;
    return;
  }
  // The present window is left out: one whose loss rises is no measure of noise.
  const double noise = kLossErrors * std::sqrt(2 * variance_);
  const bool comes_back = mean - best_ > std::max(kLossComesBack * (first_ - best_), noise);
  variance_ = std::lerp(variance_, variance, kShareOfWindow);
  choose(comes_back, unlike, even);
  best_ = comes_back ? mean : std::min(best_, mean);
}

void LossGuard::choose(bool comes_back, bool unlike, bool even) {
  if (comes_back) {
    const bool takes_back = unlike && !even && caution_ < 1;
    caution_ = takes_back ? 1 : std::min(kCautionStep * std::max(caution_, 1.0), kCautionMax);
    had_alarm_ = true;
    calm_ = 0;
    return;
  }
  ++calm_;
  if (had_alarm_ && calm_ % kCalmWindows == 0) caution_ = std::max(caution_ / kCautionStep, 1.0);
  if (!had_alarm_ && !even && calm_ % kBoldWindows == 0)
    caution_ = std::max(caution_ / kBoldStep, kCautionMin);
}

}  // namespace kimesh
