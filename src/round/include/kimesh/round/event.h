// The events that a driver gives to a core, which has no other input.
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
};                  // Ctrl-C: every node saves its model at once
struct SaveNow {};  // the user asks for a checkpoint

// ---- from where checkpoints are kept
struct StateHeld {
  Round round = 0;
};  // the checkpoint of this round would survive the loss of power

using Event = std::variant<LinkUp, LinkDown, MessageArrived, MessageAcked, MessageApplied,
                           PeerHeard, PeerBye, PeerHalted, GradientDone, Evaluated, AdvanceDone,
                           ApplyDone, StepDone, MovementTaken, StateSaved, StateLoaded, StateHeld,
                           WorkFailed, Tick, StopNow, SaveNow>;

}  // namespace kimesh
