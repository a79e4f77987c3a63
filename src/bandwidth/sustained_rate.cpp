#include "kimesh/bandwidth/sustained_rate.h"

#include <algorithm>

namespace kimesh {
namespace {

// Shorter times are those of wake-ups and of line speed.
constexpr double kTailSecondsMin = 0.002, kSecondsMin = 0.003;
// A lower reading counts in full, a higher one moves the rate by this share of the difference.
constexpr double kRise = 0.15;
// A single reading is believed within these multiples of the rate: it may be a hiccup.
constexpr double kReadingMin = 0.5, kReadingMax = 2;
// What a message raises the rate by that was faster than it, and too short to tell more.
constexpr double kCreep = 1.005;

// 0: none.
double reading_of(const LinkSample& sample) {
  const double tail_s = to_seconds(sample.tail_time);
  if (tail_s >= kTailSecondsMin && sample.tail_bytes > 0)
    return static_cast<double>(sample.tail_bytes) / tail_s;
  const double seconds = to_seconds(sample.elapsed - sample.round_trip);
  return seconds > kSecondsMin ? static_cast<double>(sample.bytes) / seconds : 0;
}

}  // namespace

void SustainedRate::add(const LinkSample& sample) {
  if (sample.sender_limited || sample.bytes == 0 || sample.elapsed <= Duration{0}) return;
  const double reading = reading_of(sample);
  if (bytes_per_s_ <= 0) {
    bytes_per_s_ = reading;
  } else if (reading > 0) {
    const double believed =
        std::clamp(reading, kReadingMin * bytes_per_s_, kReadingMax * bytes_per_s_);
    bytes_per_s_ += (believed < bytes_per_s_ ? 1 : kRise) * (believed - bytes_per_s_);
  } else if (static_cast<double>(sample.bytes) > bytes_per_s_ * to_seconds(sample.elapsed)) {
    bytes_per_s_ *= kCreep;
  }
}

}  // namespace kimesh
