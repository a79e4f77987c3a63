// How far a run has come, whatever its topology: what a core's state begins with, and all that
// a core of another plan can go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "kimesh/events/message.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {

struct Progress {
  Round round = 0;             // the last one that has ended
  Control verdict{};           // its Verdict
  Duration clock{0};           // since the run began, evaluations included
  Duration since_called{0};    // since the last checkpoint was called
  Duration evaluated{0};       // time of evaluations, which the run's clock leaves out
  Round trained = 0;           // rounds with a gradient
  std::uint64_t steps = 0;     // ComputeGradient::steps_before of the next one
  Round since_checkpoint = 0;  // the first round after the last checkpoint
  unsigned accuracy_hits = 0, loss_hits = 0;  // evaluations in a row that reached the target
  std::uint64_t traffic = 0;                  // bytes that this node has sent
  double data_weight = 0;                     // ω of this node
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.round, self.verdict, self.clock, self.since_called, self.evaluated,
                    self.trained, self.steps, self.since_checkpoint, self.accuracy_hits,
                    self.loss_hits, self.traffic, self.data_weight);
  }
};

// Of the state of a core, as SaveState has it. Errors: Malformed.
[[nodiscard]] Result<Progress> progress_in(std::span<const std::byte> core);
// The state of a core that has come so far under another plan: links, channels and policy begin
// anew.
[[nodiscard]] std::vector<std::byte> core_state_of(const Progress& progress);

}  // namespace kimesh
