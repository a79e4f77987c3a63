// The schedule of a round: which messages are sent first, and how much of the round's time each may
// take.
#pragma once

#include "kimesh/topology/plan.h"

namespace kimesh {

// Fills in `remaining` and `slots` of all channels, and the plan's slots. The schedule is that of
// messages that take equally long: each link carries one at a time, in the order in which they
// become ready, of several at once the one with most messages behind it first. A message is ready
// when those that it waits for have arrived. Requires channels and node_channels of the plan.
void lay_slots(Plan& plan);

}  // namespace kimesh
