// What a core wants done. Vector work names opaque buffers; its end comes back as an event. Actions
// that name one buffer run in the order of issue.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kimesh/compress/feedback.h"
#include "kimesh/round/event.h"

namespace kimesh {

// A float vector of this node, without saying where it lies.
struct BufferId {
  enum class Kind : std::uint8_t {
    kParameters,    // index: shard. w_i[s]; x[s] itself at the owner
    kContribution,  // index: shard. ω_i v_i[s], read only
    kEstimate,      // index: channel. What this end of a channel holds (gather_in channels: use
                    // kParameters)
  };
  Kind kind = Kind::kParameters;
  std::uint32_t index = 0;
  bool operator==(const BufferId&) const = default;
};

// ---- vector work. Spans point into tables of the core, which outlives them.
struct ComputeGradient {
  Round round;
};  // at w, then clip, decay, momentum -> GradientDone
struct Evaluate {
  Round round;
};                       // w on this node's part of the test set -> Evaluated
struct AdvanceChannel {  // -> AdvanceDone
  ChannelIndex channel;
  Round round;
  std::span<const BufferId> terms;  // target = their sum, in this order
  BufferId estimate;
  Setting setting;
  bool restart;  // the estimate starts from 0 first
  bool digest;
  Feedback feedback = Feedback::kEf21;  // kEf14: the estimate is minus the residual; no digest
  bool curve = false;                   // measure what there was to send
};
struct ApplyMessage {  // -> ApplyDone, or WorkFailed
  ChannelIndex channel;
  Round round;
  BufferId estimate;
  PayloadId payload;
  Form form;
  bool restart;  // the estimate starts from 0 first
  bool digest;
};
struct StepShard {  // x[s] = optimizer(x[s], Σ terms) -> StepDone
  ShardIndex shard;
  Round round;
  std::span<const BufferId> terms;
  bool digest;
};

// ---- to the links
struct SendMessage {
  Message message;
  PayloadId payload;
};  // the link keeps it until it is acked
struct SendApplied {
  ChannelIndex channel;
  Round round;
  Generation generation;
  ApplyOutcome outcome;
};
struct SendBye {};  // to every peer
struct SendHalt {
  HaltKind kind;
  std::string reason;
};  // to every peer

// ---- to whoever watches
struct LinkReport {
  LinkIndex link = 0;
  double bytes_per_s = 0, relative_error = 1;  // estimate; 0: unknown
  Duration fixed_cost{0};
  std::uint64_t budget_bytes = 0, bytes = 0;  // of this round's messages; bytes with overhead
  std::uint64_t elements = 0, kept = 0;       // share kept = kept / elements
  double gain = 0;                            // energy-weighted α of its messages
  Duration wire{0};                           // time that the pipe was busy with acked messages
};
struct RoundReport {
  Round round = 0;
  bool poll = false;
  TimePoint begun, ended;
  double own_loss = 0;
  Word word;  // the mesh's loss, accuracy, T_comp
  Duration compute{0}, evaluate{0}, encode{0}, apply{0}, step{0};
  std::vector<LinkReport> links;                              // this node's outgoing ones
  std::vector<std::pair<ShardIndex, std::uint64_t>> digests;  // of owned shards, when asked for
  std::string policy_state;  // what the policy has learnt, a JSON object; empty: nothing
};
struct Report {
  RoundReport round;
};

// All that time or measurement decided; replaying these makes the same bits.
struct Decision {
  enum class Kind : std::uint8_t { kSetting, kReset, kClosing, kPollStop } kind = Kind::kSetting;
  Round round = 0;
  ChannelIndex channel = 0;  // setting, reset
  Setting setting;           // setting
  Word word;                 // closing, poll stop
};
struct Decided {
  Decision decision;
};
struct Notice {
  std::string text;
};  // a sentence for the log: resets, warnings

// ---- the end
enum class Outcome : std::uint8_t { kDone, kStopped, kFailed };
struct Finish {
  Outcome outcome;
  StopReason reason;
  std::string text;
};  // nothing follows

using Action =
    std::variant<ComputeGradient, Evaluate, AdvanceChannel, ApplyMessage, StepShard, SendMessage,
                 SendApplied, SendBye, SendHalt, Report, Decided, Notice, Finish>;

}  // namespace kimesh
