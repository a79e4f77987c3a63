// The small numbers by which all layers name nodes, shards, links and channels; they index the
// lists of a Plan. Durations and times.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace kimesh {

using NodeIndex = std::uint16_t;     // position in View::nodes, the order of the topology file
using ShardIndex = std::uint16_t;    // position in Plan::shards
using LinkIndex = std::uint32_t;     // position in Plan::links; a link is directed
using ChannelIndex = std::uint32_t;  // position in Plan::channels: (link, shard, phase)
using Round = std::uint32_t;         // counts from 0
using Generation = std::uint32_t;    // of a channel; a reset raises it

enum class Phase : std::uint8_t { kReduce = 0, kGather = 1 };

// Monotonic time, counted from an origin of the process's clock in a live run, and from the start
// in the simulator. Only differences of one node's own values mean anything.
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline double to_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
// To the nearest nanosecond.
inline Duration from_seconds(double s) {
  return Duration(std::llround(s * 1e9));
}

}  // namespace kimesh
