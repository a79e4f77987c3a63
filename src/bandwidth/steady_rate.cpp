#include "kimesh/bandwidth/steady_rate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kimesh/util/quantile.h"

namespace kimesh {
namespace {

bool is_rate(double bytes_per_s) {
  return bytes_per_s > 0 && std::isfinite(bytes_per_s);
}

}  // namespace

void SteadyRate::add(double bytes_per_s) {
  if (!is_rate(bytes_per_s)) return;
  rates_[next_] = bytes_per_s;
  next_ = (next_ + 1) % kCount;
  count_ = std::min(count_ + 1, kCount);
}

double SteadyRate::of(double believed_bytes_per_s) const {
  if (count_ < kRecent) return believed_bytes_per_s;
  std::array<double, kCount> all = rates_;
  std::array<double, kRecent> recent{};
  for (std::size_t age = 0; age < kRecent; ++age)
    recent[age] = rates_[(next_ + kCount - 1 - age) % kCount];
  const double most = lower_quantile(std::span(all).first(count_), kUpperQuantile);
  const double least = std::min(lower_median(recent), most);
  return std::clamp(believed_bytes_per_s, least, most);
}

// The first count_ values are in use: the ring is full, or has not gone round yet.
bool SteadyRate::is_sound() const {
  return next_ < kCount && count_ <= kCount && (count_ == kCount || next_ == count_) &&
         std::ranges::all_of(std::span(rates_).first(count_), is_rate);
}

}  // namespace kimesh
