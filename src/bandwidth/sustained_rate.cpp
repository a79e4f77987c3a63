#include "kimesh/bandwidth/sustained_rate.h"

#include <algorithm>
#include <utility>

namespace kimesh {
namespace {

// Shorter times are those of wake-ups and of line speed.
constexpr double kSecondsMin = 0.003;
// A higher reading moves the rate by this share of the difference.
constexpr double kRise = 0.15;
// A reading is believed within these multiples of the rate.
constexpr double kReadingMin = 0.5, kReadingMax = 2;
// Two readings tell the same within this ratio. Links repeat themselves; waits do not.
constexpr double kAlike = 1.25;
// What a message multiplies the rate by that was faster than it, and too short to tell more. A few
// hundredths let rounds behind a bucket pass their plan; half a hundredth leaves links slow for
// long after hiccups of a busy machine.
constexpr double kGrowth = 1.01;
// Of a rate that a hiccup may have made, or that such growth has brought to so many times what a
// row of readings told.
constexpr double kGrowthUntold = 1.1;
constexpr double kUntold = 2;
// What readings told grows by this share of that. Of one chunk no tail is ever read.
constexpr double kShareOfTold = 0.5;

// A message's time counts as the wire's where its tail, scaled to all of its bytes, fills this
// share. The rest is latency, or a process that waited for a core.
constexpr double kWireShareMin = 0.5;

double whole_seconds(const LinkSample& sample) {
  return to_seconds(sample.elapsed - sample.round_trip);
}

// Without what it waited behind the message before it, which is that one's time.
double own_seconds(const LinkSample& sample) {
  const double whole = whole_seconds(sample);
  return sample.since_ack ? std::min(whole, to_seconds(*sample.since_ack)) : whole;
}

// 0: none.
double reading_of(const LinkSample& sample) {
  const double tail_s = to_seconds(sample.tail_time);
  if (tail_s >= kTailSecondsMin && sample.tail_bytes > 0)
    return static_cast<double>(sample.tail_bytes) / tail_s;
  const double seconds = own_seconds(sample);
  if (seconds <= kSecondsMin || sample.tail_bytes == 0) return 0;
  const auto bytes = static_cast<double>(sample.bytes);
  const double wire_s = tail_s * bytes / static_cast<double>(sample.tail_bytes);
  return wire_s >= kWireShareMin * seconds ? bytes / seconds : 0;
}

}  // namespace

// What a reading and those before it tell together; 0: too few.
double SustainedRate::told_by_row(double reading) const {
  if (row_length_ == 0) return 0;
  const auto [low, high] = std::minmax(reading, row_[0]);
  if (high <= kAlike * low) return high;
  return row_length_ == row_.size() ? std::max(reading, std::ranges::max(row_)) : 0;
}

void SustainedRate::read(double reading, std::size_t bytes) {
  const double by_row = told_by_row(reading);
  if (by_row > 0) row_told_ = by_row;
  row_ = {reading, row_[0]};
  row_length_ = std::min(row_length_ + 1, row_.size());
  row_bytes_ = bytes;
  if (bytes_per_s_ <= 0) {
    bytes_per_s_ = told_ = reading;
  } else if (reading > bytes_per_s_) {
    bytes_per_s_ += kRise * (std::min(reading, kReadingMax * bytes_per_s_) - bytes_per_s_);
    told_ = bytes_per_s_;
  } else {
    const double all = by_row > 0 ? std::min(by_row, bytes_per_s_) : bytes_per_s_;
    told_ = std::max(reading, std::min(told_, all));
    bytes_per_s_ = std::max(all, kReadingMin * bytes_per_s_);
  }
}

void SustainedRate::end_row(std::size_t bytes, bool waited) {
  const bool is_as_large = bytes >= row_bytes_;
  if (waited || is_as_large) row_length_ = 0;
}

void SustainedRate::add(const LinkSample& sample) {
  if (sample.sender_limited || sample.bytes == 0 || sample.elapsed <= Duration{0}) return;
  if (const double reading = reading_of(sample); reading > 0) {
    waited_ = 0;
    return read(reading, sample.bytes);
  }
  const double own_s = own_seconds(sample), whole_s = whole_seconds(sample);
  const bool is_behind = own_s < whole_s;
  // `own` is the rate of the message without its wait behind the previous one, `whole` the rate
  // with it.
  const auto bytes = static_cast<double>(sample.bytes);
  const double whole = bytes / to_seconds(sample.elapsed);
  const double own = is_behind ? bytes / own_s : whole;
  const bool slow = own_s > kSecondsMin;
  const bool waited_behind = is_behind && whole_s > kSecondsMin &&
                             (!slow || (own >= bytes_per_s_ && whole <= bytes_per_s_));
  if (bytes_per_s_ <= 0 || waited_behind) return;
  const double waited = std::exchange(waited_, 0);
  if (whole > bytes_per_s_) {
    end_row(sample.bytes, false);
    const double growth = bytes_per_s_ < kUntold * row_told_ ? kGrowth : kGrowthUntold;
    bytes_per_s_ = std::min(bytes_per_s_ * growth, whole);
    if (sample.chunks > 1)
      told_ = std::min(told_ * (1 + kShareOfTold * (growth - 1)), bytes_per_s_);
  } else if (slow) {  // perhaps of a process that waited: takes back what was grown, and no more
    end_row(sample.bytes, true);
    waited_ = own;
    const double both = std::max(own, waited > 0 ? waited : bytes_per_s_);
    bytes_per_s_ = std::min(bytes_per_s_, std::max(both, told_));
  }
}

}  // namespace kimesh
