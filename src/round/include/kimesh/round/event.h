// What happens to a node, as its core sees it. Drivers make these; the core never asks for anything
// else.
#pragma once

#include <string>
#include <variant>

#include "kimesh/events/links.h"
#include "kimesh/events/work.h"

namespace kimesh {

// ---- from the clock and the user
struct Tick {};
struct StopNow {
  std::string reason;
};  // Ctrl-C: every owner saves its shards at once

using Event = std::variant<LinkUp, LinkDown, MessageArrived, MessageAcked, MessageApplied,
                           PeerHeard, PeerBye, PeerHalted, GradientDone, Evaluated, AdvanceDone,
                           ApplyDone, StepDone, WorkFailed, Tick, StopNow>;

}  // namespace kimesh
