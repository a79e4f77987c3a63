// A link as recorded bursts showed it: a bottleneck that serves TCP segments, a token bucket that
// lets the first bytes pass, late stamps, and now and then a machine that pauses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/util/random.h"

namespace kimesh {

struct EmulatedLink {
  double bytes_per_s = 125e3;
  double rtt_s = 0;
  double bucket_bytes = 0;      // what an idle link may send at once
  bool coalesced = true;        // chunks share segments of 1448 bytes; else each chunk is its own
  double jitter_s = 100e-6;     // mean lateness of a stamp
  double hiccup_chance = 0.02;  // of a message
  double hiccup_s = 0.020;      // the longest
  Random random;

  explicit EmulatedLink(std::uint64_t seed) : random(seed, 0, 0, Purpose::kTest) {}

  double exponential(double mean) { return -mean * std::log(1 - random.uniform()); }

  // Sends one message over the idle link.
  LinkSample send(std::size_t bytes) {
    const std::size_t chunks = chunk_count(bytes);
    const auto end_of = [&](std::size_t chunk) { return bytes * (chunk + 1) / chunks; };
    const bool pauses = random.uniform() < hiccup_chance;
    const double length = static_cast<double>(bytes) / bytes_per_s + rtt_s;
    const double pause = pauses ? random.uniform() * length : INFINITY;
    const double resume = pause + random.uniform() * hiccup_s;
    const auto stamp = [&](double at) {
      return (at > pause && at < resume ? resume : at) + exponential(jitter_s);
    };
    const auto arrival = [&](std::size_t chunk) {
      const std::size_t end = end_of(chunk);
      const double carried =
          static_cast<double>(coalesced ? std::min(bytes, (end + 1447) / 1448 * 1448) : end);
      return std::max(carried - bucket_bytes, 0.0) / bytes_per_s + rtt_s / 2;
    };
    LinkSample sample;
    sample.bytes = bytes;
    sample.chunks = static_cast<std::uint16_t>(chunks);
    const double last = stamp(arrival(chunks - 1));
    if (chunks >= 2) {
      const std::size_t half = chunks / 2 - 1;
      sample.tail_bytes = bytes - end_of(half);
      sample.tail_time = from_seconds(std::max(last - stamp(arrival(half)), 0.0));
    }
    sample.elapsed = from_seconds(last + rtt_s / 2 + exponential(jitter_s));
    return sample;
  }
  [[nodiscard]] double ideal_s(std::size_t bytes) const {
    return std::max(static_cast<double>(bytes) - bucket_bytes, 0.0) / bytes_per_s + rtt_s;
  }
};

// The value under which `share` of the values lie.
inline double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace kimesh
