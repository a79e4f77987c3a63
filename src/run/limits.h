// The limits of what a config may say beside its sections, and of `stop`, each with its reason.
#pragma once

#include "kimesh/config/range.h"

namespace kimesh::limits {

inline constexpr Range kRounds{1, kRoundsMax};
inline constexpr Range kRoundTimesSeconds{1e-3, 3600};  // below: a ZeroMQ hop's own cost
inline constexpr Range kAccuracies{0, 1, true};
// A model that gives every class the same chance has the logarithm of their number, 11 at most.
inline constexpr Range kLosses{0, 1000, true};
inline constexpr Range kStopSeconds{1e-3, 3 * 365 * 86400.0};  // three years
inline constexpr Range kCheckpointSeconds{0.1, 30 * 86400.0};  // from tests to a month
inline constexpr Range kCheckpointRounds{2, kRoundsMax};  // a verdict of the round before names it
inline constexpr Range kCheckpointsKept{0, 1000};
inline constexpr Range kThreads{0, 1024};

}  // namespace kimesh::limits
