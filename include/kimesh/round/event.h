// What happens to a node, as its core sees it. Drivers make these; the core never asks for anything
// else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/round/control.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Names bytes of a message that the driver holds. The core only passes it on.
using PayloadId = std::uint64_t;
inline constexpr PayloadId kNoPayload = 0;

// A message of one channel, without its payload.
struct Message {
  ChannelIndex channel = 0;
  Round round = 0;
  Generation generation = 0;
  bool restart = false;  // first of its generation: the receiver's estimate starts from 0 (reduce)
                         // or is assigned
  Form form = Form::kEmpty;
  std::uint32_t payload_bytes = 0;
  std::uint64_t digest = 0;  // of the estimate after this message, 0: none
  Control control{};         // ControlVector up, Word down; meaningful with shard 0 only
};

// What the far core says once it has applied a message.
enum class ApplyOutcome : std::uint8_t {
  kApplied = 0,
  kDigestDiffers = 1,  // applied, but the two ends hold different bits
};

// ---- from the links
struct LinkUp {
  LinkIndex link;
};  // outgoing link: handshake done
struct LinkDown {
  LinkIndex link;
};  // it is being redialled; nothing is lost
struct MessageArrived {
  Message message;
  PayloadId payload;
};
struct MessageAcked {
  LinkIndex link;
  std::optional<LinkSample> sample;
};  // receipt, with timing
struct MessageApplied {
  ChannelIndex channel;
  Round round;
  Generation generation;
  ApplyOutcome outcome;
};
struct PeerHeard {
  NodeIndex node;
};  // any frame of it, chunks included
struct PeerBye {
  NodeIndex node;
};  // it has nothing more to send
enum class HaltKind : std::uint8_t { kUserStop, kFailure };
struct PeerHalted {
  NodeIndex node;
  HaltKind kind;
  std::string reason;
};  // the run is over; `reason` is for people

// ---- from vector work and the trainer; the ends of actions
struct GradientDone {
  Round round;
  double loss;  // mean over the batch
  Duration took;
};
struct Evaluated {
  Round round;
  double correct, samples, loss_sum;
  Duration took;
};
struct AdvanceDone {
  ChannelIndex channel;
  Round round;
  PayloadId payload;
  std::uint32_t payload_bytes;
  Form form;
  double wanted_energy, missing_energy;
  std::uint64_t digest;  // 0 when none was asked for
  Duration took;
  Curve curve{};           // where it was asked for
  std::uint64_t kept = 0;  // elements that the message carries
};
struct ApplyDone {
  ChannelIndex channel;
  Round round;
  std::uint64_t digest;  // 0 when none was asked for
  Duration took;
};
struct StepDone {
  ShardIndex shard;
  Round round;
  std::uint64_t digest;  // 0 when none was asked for
  Duration took;
};
struct WorkFailed {
  std::string reason;
};  // NaN in a gradient, malformed payload: the run ends with this sentence

// ---- from the clock and the user
struct Tick {};
struct StopNow {
  std::string reason;
};  // Ctrl-C: every owner saves its shards at once

using Event = std::variant<LinkUp, LinkDown, MessageArrived, MessageAcked, MessageApplied,
                           PeerHeard, PeerBye, PeerHalted, GradientDone, Evaluated, AdvanceDone,
                           ApplyDone, StepDone, WorkFailed, Tick, StopNow>;

}  // namespace kimesh
