#include "shared_uplink.h"

#include <algorithm>
#include <cmath>

namespace kimesh {
namespace {

// Halves of messages that are kept of a round: enough for 64 links, and a bound on the work.
constexpr std::size_t kCarriedMax = 256;
// The weight of a deviation relative to the next newer one.
constexpr double kFade = 0.95;
// Deviations are shares of what all links carry. Smaller ones are noise, and larger ones, as
// buckets make them, count as so much.
constexpr double kDeviationMin = 0.05, kDeviationMax = 0.5;
// A correlation below the first tells that links share, one above the second that they do not;
// between them what was thought before stays. It needs so many readings.
constexpr double kShared = -0.3, kNotShared = 0.2, kSeenMin = 8;

}  // namespace

double SharedUplink::Carried::within(const Carried& other) const {
  const double common = to_seconds(std::min(end, other.end) - std::max(begin, other.begin));
  return common > 0 ? bytes * common / to_seconds(end - begin) : 0;
}

SharedUplink::Reading SharedUplink::Recent::mean() const {
  const std::size_t size = std::min(count, kCount);
  Reading sum;
  for (std::size_t i = 0; i < size; ++i) {
    sum.own += readings[i].own;
    sum.others += readings[i].others;
  }
  return {sum.own / static_cast<double>(size), sum.others / static_cast<double>(size)};
}

// A message is at its receiver half a round trip before its ack is here.
void SharedUplink::acked(std::size_t link, const LinkSample& sample, TimePoint now) {
  if (means_.size() < 2 || sample.sender_limited || round_.size() + 2 > kCarriedMax) return;
  const TimePoint end = now - sample.round_trip / 2, middle = end - sample.tail_time;
  const auto tail_bytes = static_cast<double>(std::min(sample.tail_bytes, sample.bytes));
  round_.push_back(
      {link, now - sample.elapsed, middle, static_cast<double>(sample.bytes) - tail_bytes, false});
  round_.push_back({link, middle, end, tail_bytes, true});
}

void SharedUplink::end_round() {
  for (const Carried& tail : round_) {
    const double seconds = to_seconds(tail.end - tail.begin);
    if (!tail.is_tail || seconds < kTailSecondsMin) continue;
    double others = 0;
    for (const Carried& other : round_)
      if (other.link != tail.link) others += other.within(tail);
    compare({tail.bytes / seconds, others / seconds}, means_[tail.link]);
  }
  round_.clear();
}

void SharedUplink::compare(const Reading& reading, Recent& recent) {
  recent.add(reading);
  const Reading mean = recent.mean();
  const double total = mean.own + mean.others;
  if (recent.count < Recent::kCount || total <= 0) return;
  const auto deviation = [&](double rate, double usual) {
    return std::clamp((rate - usual) / total, -kDeviationMax, kDeviationMax);
  };
  const double own = deviation(reading.own, mean.own);
  const double others = deviation(reading.others, mean.others);
  if (std::max(std::abs(own), std::abs(others)) < kDeviationMin) return;
  products_ = kFade * products_ + own * others;
  own_squares_ = kFade * own_squares_ + own * own;
  others_squares_ = kFade * others_squares_ + others * others;
  seen_ = kFade * seen_ + 1;
  if (seen_ < kSeenMin) return;
  const double correlation = products_ / std::sqrt(own_squares_ * others_squares_);
  if (correlation < kShared) is_shared_ = true;
  if (correlation > kNotShared) is_shared_ = false;
}

}  // namespace kimesh
