// How often a round's links have to take turns.
#pragma once

#include "kimesh/topology/plan.h"

namespace kimesh {

// The messages' times that a round takes when all messages take equally long, each link carries one
// at a time in the order in which they are ready, and each is ready when those that it waits for
// have arrived. Requires channels and node_channels of the plan.
[[nodiscard]] unsigned count_slots(const Plan& plan);

}  // namespace kimesh
