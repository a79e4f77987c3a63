// The limits of what a user's file may say, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh::limits {

// Files. A person writes kilobytes; what is larger is some other file, and is not read into memory.
inline constexpr std::size_t kYamlBytesMax = 1 << 20;
inline constexpr std::size_t kYamlDepthMax = 16;         // we need 4; the parser recurses per level
inline constexpr std::size_t kTraceBytesMax = 16 << 20;  // a day in steps of 0.1 s
inline constexpr std::size_t kTraceStepsMax = 1'000'000;  // the same day, and memory of 16 MB
// Each step is an event in the simulator and a wake-up in the shaper.
inline constexpr double kTraceStepSecondsMin = 1e-3;

// Quoted from a user's file in a sentence: enough to recognise it.
inline constexpr std::size_t kQuotedMax = 60;

// Topology.
inline constexpr std::size_t kNodesMin = 2;      // one node has nobody to talk to
inline constexpr std::size_t kNodeNameMax = 32;  // names travel in every handshake and file name
inline constexpr std::size_t kHostMax = 253;     // the longest DNS name
inline constexpr double kDelaySecondsMax = 60;   // longer than any path; it only eats start_timeout
inline constexpr double kDeadAfterSecondsMin = 1;     // a busy machine is silent for hundreds of ms
inline constexpr double kDeadAfterSecondsMax = 3600;  // a run that hangs longer is not watched
inline constexpr double kStartTimeoutSecondsMin = 1;  // processes need that to start
inline constexpr double kStartTimeoutSecondsMax = 86400;  // a day: machines started by hand
inline constexpr double kDataWeightMax = 1e9;             // a sample count at most; sums stay exact
inline constexpr double kShardWeightMax = 1e9;            // as far apart as shards can be

}  // namespace kimesh::limits
