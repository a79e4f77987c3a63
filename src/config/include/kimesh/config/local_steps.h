// How many steps a worker may take between two rounds of messages. Both files of a run say it: the
// config for all nodes, the topology file for one.
#pragma once

#include "kimesh/config/range.h"

namespace kimesh {

// Optimizer steps in a round. Above: 500 is the most that is known to work (Douillard et al., 2023,
// DiLoCo), and a round in which no node hears of another is so many gradients long.
inline constexpr Range kLocalStepCounts{1, 1000};

}  // namespace kimesh
