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
// What a message multiplies the rate by that was faster than it, and too short to tell more. A few
// hundredths let rounds behind a bucket pass their plan; half a hundredth leaves links slow for
// long after hiccups of a busy machine.
constexpr double kGrowth = 1.01;

// A message's time counts as the wire's where its tail, scaled to all of its bytes, fills this
// share. The rest is latency, or a process that waited for a core.
constexpr double kWireShareMin = 0.5;

// 0: none.
double reading_of(const LinkSample& sample) {
  const double tail_s = to_seconds(sample.tail_time);
  if (tail_s >= kTailSecondsMin && sample.tail_bytes > 0)
    return static_cast<double>(sample.tail_bytes) / tail_s;
  const double seconds = to_seconds(sample.elapsed - sample.round_trip);
  if (seconds <= kSecondsMin || sample.tail_bytes == 0) return 0;
  const auto bytes = static_cast<double>(sample.bytes);
  const double wire_s = tail_s * bytes / static_cast<double>(sample.tail_bytes);
  return wire_s >= kWireShareMin * seconds ? bytes / seconds : 0;
}

}  // namespace

void SustainedRate::add(const LinkSample& sample) {
  if (sample.sender_limited || sample.bytes == 0 || sample.elapsed <= Duration{0}) return;
  const double reading = reading_of(sample);
  const bool slow = to_seconds(sample.elapsed - sample.round_trip) > kSecondsMin;
  const double whole = static_cast<double>(sample.bytes) / to_seconds(sample.elapsed);
  const double previous = std::exchange(previous_, reading > 0 ? reading : whole);
  if (bytes_per_s_ <= 0) {
    bytes_per_s_ = told_ = reading;
  } else if (reading > bytes_per_s_) {
    bytes_per_s_ += kRise * (std::min(reading, kReadingMax * bytes_per_s_) - bytes_per_s_);
    told_ = bytes_per_s_;
  } else if (reading > 0) {
    const double both = std::max(reading, std::min(previous, bytes_per_s_));
    told_ = both;
    bytes_per_s_ = std::max(both, kReadingMin * bytes_per_s_);
  } else if (whole > bytes_per_s_) {
    bytes_per_s_ *= kGrowth;
  } else if (slow) {  // perhaps of a process that waited: takes back what was grown, and no more
    const double both = std::max(whole, std::min(previous, bytes_per_s_));
    bytes_per_s_ = std::max(both, std::min(told_, bytes_per_s_));
  }
}

}  // namespace kimesh
