// Work that a core gives to the memory and the trainer of its node, and the events that report its
// end. Work names buffers without their addresses. Work on one buffer is carried out in the order
// of issue.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kimesh/codec/codec.h"
#include "kimesh/codec/feedback.h"
#include "kimesh/events/message.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The name of a float vector of this node.
struct BufferId {
  enum class Kind : std::uint8_t {
    kParameters,    // index: shard. w_i[s], at which the node takes its gradient
    kOwned,         // index: shard. x[s] at its owner; the parameters where every message is dense
    kContribution,  // index: shard. What the node adds to the reduce, read only
    kEstimate,      // index: channel. What this end of a channel holds (gather_in channels: use
                    // kParameters). The reduce_in channels of one shard may share one sum
  };
  Kind kind = Kind::kParameters;
  std::uint32_t index = 0;
  bool operator==(const BufferId&) const = default;
};

// ---- vector work. Spans point into tables of the core, which outlives them.
struct AdvanceChannel {  // -> AdvanceDone
  ChannelIndex channel = 0;
  Round round = 0;
  std::span<const BufferId> terms;  // target = their sum, in this order
  BufferId estimate;
  Setting setting;
  bool restart = false;  // the estimate starts from 0 first (reduce); a gather's message is dense
  bool digest = false;
  Feedback feedback = Feedback::kEf21;  // kEf14: the estimate is minus the residual; no digest
  bool curve = false;                   // measure what there was to send
};
struct ApplyMessage {  // -> ApplyDone, or WorkFailed
  ChannelIndex channel = 0;
  Round round = 0;
  BufferId estimate;
  Form form = Form::kDense;
  bool restart = false;  // the estimate starts from 0 first (reduce); a gather's message is dense.
                         // A sum of reduces starts from 0 in every round
  bool digest = false;
  Payload payload{};
  bool energy = false;  // the step of this round will ask for StepShard::agreement
};
struct StepShard {  // x[s] = optimizer(x[s], Σ terms) -> StepDone
  ShardIndex shard = 0;
  Round round = 0;
  std::span<const BufferId> terms;
  bool digest = false;
  bool agreement = false;  // requires ApplyMessage::energy in all messages of its terms
  double local_steps = 1;  // Σ ω_i · ComputeGradient::local_steps of node i in `round`
};
// Makes this node's movement of the gradient of `round`, for the round's reduces, and, where the
// next gradient is to be computed while they travel, its point. Only where nodes may look ahead
// -> MovementTaken
struct TakeMovement {
  Round round = 0;
  bool taken_ahead = false;  // the gradient was, of w
  bool overlap = false;      // the next gradient's point is wanted
  unsigned next_steps = 1;   // ComputeGradient::local_steps of that gradient
  double next_scale = 1;     // ComputeGradient::scale of that gradient
};
// Which state of a node: that of the end of `round`, in the run, or the going on of one, that has
// this number (CheckpointOptions::lineage).
struct StateId {
  Round round = 0;
  std::uint64_t lineage = 0;
};
// Copies the state of this node for a checkpoint: `core` and the vectors -> StateSaved, once the
// next gradient may be computed; the rest is copied beside it
struct SaveState {
  StateId id;
  std::vector<std::byte> core{};
  // The driver's: the state so far, and its bytes.
  std::vector<std::byte> state{};
  std::size_t begun = 0;
};
// Puts the vectors back to what they were -> StateLoaded. Round kNoRound: the run begins anew.
struct LoadState {
  StateId id;
};
using VectorWork =
    std::variant<AdvanceChannel, ApplyMessage, StepShard, TakeMovement, SaveState, LoadState>;
// What a thread that carries it out is doing, for sentences: "making a message".
[[nodiscard]] const char* doing(const VectorWork& work);

// ---- the trainer's work
enum class GradientPoint : std::uint8_t {
  kParameters,  // w
  kAhead,       // ahead of w
  kMade,        // that of the last TakeMovement, ahead of what is under way
};
struct ComputeGradient {
  Round round = 0;
  GradientPoint at = GradientPoint::kParameters;
  // This node takes so many local steps, or so many times those that the topology gives it.
  unsigned local_steps = 1;
  // The number of local steps, counted so, in all rounds before.
  std::uint64_t steps_before = 0;
  // What its movement is multiplied with where nodes take unlike numbers: LocalSteps::scale().
  double scale = 1;
};  // then clip, decay and, without TakeMovement, momentum; or all local steps -> GradientDone
struct Evaluate {
  Round round = 0;
};  // w on this node's part of the test set -> Evaluated
using TrainerWork = std::variant<ComputeGradient, Evaluate>;
[[nodiscard]] const char* doing(const TrainerWork& work);

// ---- their ends
struct AdvanceDone {
  ChannelIndex channel = 0;
  Round round = 0;
  Form form = Form::kDense;
  double wanted_energy = 0, energy_to_send = 0, missing_energy = 0;  // codec/codec.h
  std::uint64_t digest = 0;                                          // 0 when none was asked for
  Duration took{0};
  Curve curve{};                            // where it was asked for
  std::uint64_t kept = 0;                   // elements that the message carries
  std::vector<std::uint32_t> piece_kept{};  // of each layer's slice; empty: all elements
  Payload payload{};
};
struct ApplyDone {
  ChannelIndex channel = 0;
  Round round = 0;
  std::uint64_t digest = 0;  // 0 when none was asked for
  Duration took{0};
};
// How far the terms of a sum point the same way: the sum over all pairs of terms a ≠ b of
// ‖a‖ ‖b‖ (1 + cos(a, b)), and of ‖a‖ ‖b‖. Their ratio is 2 where terms are alike, 1 where they
// have nothing in common, and under 1 where they oppose each other.
struct Agreement {
  double sum = 0, weight = 0;
};
struct StepDone {
  ShardIndex shard = 0;
  Round round = 0;
  std::uint64_t digest = 0;  // 0 when none was asked for
  Agreement agreement{};     // where it was asked for
  Duration took{0};
};
struct MovementTaken {
  Round round = 0;
  bool overlap = false;
  Duration took{0};
};
struct StateSaved {  // what the next gradient changes is copied: the next round may begin
  Round round = 0;
  bool kept = true;  // false: nobody keeps states of this node
};
struct StateLoaded {
  Round round = 0;
  std::vector<std::byte> core{};
};
struct GradientDone {
  Round round = 0;
  double loss = 0;   // mean over the batch, or over those of all local steps
  Duration took{0};  // of all of them
};
struct Evaluated {
  Round round = 0;
  double correct = 0, samples = 0, loss_sum = 0;
  Duration took{0};
};
struct WorkFailed {
  std::string reason;
  bool is_permanent = false;  // it comes again where the run goes on from a checkpoint
};  // NaN in a gradient, malformed payload: the run ends with this sentence

}  // namespace kimesh
