// The limits of what a topology file may say, each with its reason.
#pragma once

#include <cstddef>

namespace kimesh::limits {

inline constexpr std::size_t kNodesMin = 2;      // one node has nobody to talk to
inline constexpr std::size_t kNodeNameMax = 32;  // names travel in every handshake and file name
inline constexpr std::size_t kHostMax = 253;     // the longest DNS name
inline constexpr double kDelaySecondsMax = 60;   // longer than any path; it only eats start_timeout
inline constexpr double kDeadAfterSecondsMin = 1;     // a busy machine is silent for hundreds of ms
inline constexpr double kDeadAfterSecondsMax = 3600;  // a run that hangs longer is not watched
inline constexpr double kStartTimeoutSecondsMin = 1;  // processes need that to start
inline constexpr double kStartTimeoutSecondsMax = 86400;   // a day: machines started by hand
inline constexpr double kFirstGradientSecondsMin = 1;      // a busy machine loads its data in that
inline constexpr double kFirstGradientSecondsMax = 86400;  // a day: nobody waits longer
inline constexpr double kDataWeightMax = 1e9;   // a sample count at most; sums stay exact
inline constexpr double kShardWeightMax = 1e9;  // as far apart as shards can be

}  // namespace kimesh::limits
