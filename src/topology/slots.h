// The number of slots of a round.
#pragma once

#include "kimesh/topology/plan.h"

namespace kimesh {

// The duration of a round, in durations of a message, when all messages take equally long, each
// link carries one at a time in the order in which they become ready, and a message is ready when
// those that it waits for have arrived. Requires channels and node_channels of the plan.
[[nodiscard]] unsigned count_slots(const Plan& plan);

}  // namespace kimesh
