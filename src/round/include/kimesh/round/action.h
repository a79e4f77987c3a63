// The actions of a core: vector work and trainer work, messages for links, and reports for
// observers.
#pragma once

#include <variant>

#include "kimesh/events/links.h"
#include "kimesh/events/work.h"
#include "kimesh/round/report.h"

namespace kimesh {

using Action = std::variant<ComputeGradient, Evaluate, AdvanceChannel, ApplyMessage, StepShard,
                            TakeMovement, SaveState, LoadState, SendMessage, SendApplied, SendBye,
                            SendHalt, Report, Decided, Notice, Finish>;

}  // namespace kimesh
