// Policies: from what a link can carry and what a message wants to how it is sent. Pure: what they
// know comes through their arguments, and two policies that were told the same decide the same.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "kimesh/bandwidth/estimator.h"
#include "kimesh/codec/codec.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {

// All that a decision may depend on, apart from what the policy was told by observe().
struct MessageContext {
  Phase phase = Phase::kReduce;
  std::size_t elements = 0;              // of the shard
  std::size_t overhead_bytes = 0;        // headers and control that travel with the payload
  std::size_t chunk_overhead_bytes = 0;  // and what each of its chunks adds (bandwidth/sample.h)
  Round round = 0;
  Duration round_time{0};  // that a round is to take: the config's, or what the mesh has chosen
  bool round_time_is_searched = false;  // the mesh has chosen it
  unsigned link_number = 0;             // among the node's outgoing links, from 0
  LinkEstimate link;
  // What the link may take in the long run: its max-min share of the node's sending cap, at most
  // what it was seen to sustain, or its SteadyRate. Infinity or 0: none of them is known.
  double share_bytes_per_s = 0;
  // The most that a shared gather message may take on every link of its tree; 0: nothing limits it.
  std::size_t limit_bytes = 0;
  // What the message leaves out is summed with what others leave out and compressed again before
  // the round is over, so that its codec has to be conservative.
  bool is_compressed_again = false;
  // Channel::slots; Plan::slots for a policy that wants curves, which divides the bytes of a link
  // among its messages.
  unsigned slots = 2;
  // Plan::hops. Where they are fewer than slots, links wait: a message that takes slots / hops of
  // its link's slots does not make the round longer yet.
  unsigned hops = 1;
  // T_comp: the mesh's longest gradient of a round, the median of five rounds. 0 where messages go
  // beside the next gradient.
  Duration compute_time{0};
  // How long this node took for the gradient of one local step. 0: none is there yet.
  Duration own_step_time{0};
  // What the messages of a round wait for besides gradients, encodings and the wire: the work of
  // applying them at each hop, and the owner's step.
  Duration work_time{0};
  // What the encodings of a round take whatever the sizes of its messages, and how long each byte
  // more takes. Messages that no coder makes take neither.
  Duration encode_time{0};
  double encode_s_per_byte = 0;
  unsigned timed_encodings = 0;  // of the last few messages: how many tell that time
  // Each round by which this message is late costs training as much as if all rounds took so many
  // seconds longer. It is compared with the time that coding the message takes. 0: not known.
  double delay_cost_s = 0;
  // Bits an element, where all messages of the mesh have as many (even_bits.h); 0: they have not.
  double even_bits = 0;
  // How many of the hops encode; shared gathers are forwarded as they are. 0: all of them.
  unsigned encodings = 0;
  // A node encodes messages that it makes at the same moment one after another. A message waits for
  // so many encodings of others, on all its hops together.
  unsigned encodings_waited_for = 0;
  // The largest message of the link that was acked lately; 0: none yet. What was only sent proves
  // nothing: several messages may be under way.
  std::size_t proven_bytes = 0;
  // The largest message that the link has carried in time; 0: none yet.
  std::size_t largest_bytes = 0;
  // The largest message that the link may be given in the mesh's first rounds; 0: any.
  std::size_t first_rounds_bytes = 0;
  // Acked messages in a row since the link's rate became a lower bound.
  unsigned unfilled_messages = 0;
  // This message's curve, as last measured; null: never.
  const Curve* curve = nullptr;
  // One curve for each message that the link carries in this phase of a round, as last measured
  // (empty: never); `curves[own]` is this message's.
  std::span<const Curve* const> curves;
  std::size_t own = 0;
  // Of these, the messages that were chosen before this one in this round, and their budgets.
  std::size_t phase_spent_bytes = 0;
  unsigned phase_messages_sent = 0;
};

struct Choice {
  Setting setting;
  std::size_t budget_bytes = 0;  // overhead included. 0: the policy has no notion of a budget
};

// What a round takes in which all messages are like one: what links say of it.
struct RoundCost {
  double besides_s = 0;   // without a payload
  double per_byte_s = 0;  // of payload; 0: too little is known of the link
  [[nodiscard]] bool known() const { return per_byte_s > 0; }
  [[nodiscard]] double of(std::size_t payload_bytes) const {
    return besides_s + per_byte_s * static_cast<double>(payload_bytes);
  }
};

// A message that the node sent in a round.
struct MessageObservation {
  unsigned link_number = 0;
  Phase phase = Phase::kReduce;
  std::size_t elements = 0;
  double wanted_energy = 0, missing_energy = 0;
  const Curve* curve = nullptr;      // of what there was to send; null or empty: not measured
  Budget budget{};                   // of its setting
  std::uint64_t kept = 0;            // elements that it carried
  bool is_compressed_again = false;  // MessageContext::is_compressed_again
  RoundCost cost{};                  // with what is known of its link now
};
// A training round that is over.
struct RoundObservation {
  Round round = 0;
  Duration took{0};  // evaluation left out
  std::span<const MessageObservation> messages;
};

// Every channel sends at least this share of its elements (docs/architecture.md, invariant 4).
inline constexpr double kFloorRatio = 0.001;
// The budget of the messages of one hop on a link of which nothing is known: what a link of
// kFirstBytesPerS carries while this node computes the gradient of one local step, so that a slow
// link does not hold up the first round for many gradients. At most enough for 7 chunks, which
// gives a first estimate, and a third of a second at 100 kbit/s; at least enough for 2 chunks.
// Where messages wait for others on their link (slots over hops), each has its part.
inline constexpr double kFirstBytesPerS = 1.25e6;  // 10 Mbit/s
inline constexpr std::size_t kFirstBytesMin = 1280, kFirstBytesMax = 4 * 1024;
// A link that has carried at most half of kFirstBytesMax, and has not told what it sustains, is
// given kFirstBytesMax next if it seems to carry that within kSecondMessageMax, with the messages
// that wait there: slower links soon tell their rate by small messages, and 4 KiB would hold them
// up. 6.5 Mbit/s are enough where none waits.
inline constexpr double kSecondMessageMax = 0.005;  // seconds
// While the pipe is not filled, a message is at most this much larger than what was carried lately.
inline constexpr double kGrowthMax = 1.5;
// It may be kFastGrowthMax times as large where it then takes at most kFastGrowthSlots of its slot
// and the sustained rate of the link is not known yet. Otherwise the first rounds of a fast link
// leave nearly everything out, and all of that arrives at once some rounds later. AdamW suffers
// most: its first steps have full length and are hardly better than noise.
inline constexpr double kFastGrowthMax = 4, kFastGrowthSlots = 0.25;
// When so many messages in a row did not fill the pipe, and that limit holds the next one down, it
// is a probe: larger, with real content.
inline constexpr unsigned kProbeEvery = 10;
// A probe has at most so many bytes, which fill almost any pipe.
inline constexpr std::size_t kProbeBytesMax = 1'000'000;
// It may take at most the time of so many slots: on a slow link 1 MB is a pause of seconds.
inline constexpr double kProbeSlotsMax = 2;
// It is at most so many times what was carried lately, and every message so many times the largest
// that its link has carried in time: where the rate is a guess, so are the times. A first message
// that a token bucket carried says nothing of larger ones.
inline constexpr double kProbeGrowthMax = 4;

// A round that takes longer than it should without any bytes may take so much more with them.
inline constexpr double kShareOfLongRound = 0.1;

// What budgets count on: β, at most the share. In bytes/s; 0: nothing is known of the link.
[[nodiscard]] double usable_rate(const MessageContext& message);
// The budget of docs/architecture.md ("Links and budgets"), with floor, first budget, growth limit
// and probes; for the whole message with its overhead. β is at most the share. The floor is that of
// messages of `codec`. Where dense messages fit into the time it is at least theirs.
[[nodiscard]] std::size_t budget_bytes(Duration round_time, const MessageContext& message,
                                       const Codec& codec);
// What a round takes besides the bytes of its messages: gradients, encodings, other work, and the
// way of its hops.
[[nodiscard]] Duration time_without_bytes(const MessageContext& message);
// As budgets count it, first chunk included.
[[nodiscard]] RoundCost round_cost(const MessageContext& message);
// The shortest round that this message lets the mesh have: one in which all messages are as small
// as the floor allows. Nothing: too little is known of the link.
[[nodiscard]] std::optional<Duration> least_round_time(const MessageContext& message,
                                                       const Codec& codec);

// A round whose messages are all dense. They are copied and not encoded, so that on fast links they
// take less than smaller ones. Nothing: nothing is known of the link.
[[nodiscard]] std::optional<Duration> dense_round_time(const MessageContext& message);

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual Choice choose(const MessageContext& message) const = 0;
  // The bytes that the link may spend on the message, overhead included, whatever there is to send.
  // 0: the policy has no notion of a budget.
  [[nodiscard]] virtual std::size_t budget(const MessageContext&) const { return 0; }
  // Whether messages shall be measured: costs a pass over each.
  [[nodiscard]] virtual bool wants_curves() const { return false; }
  // What this node saw of a round, once it is over and before anything of the next is chosen.
  virtual void observe(const RoundObservation&) {}
  // What it has learnt, as one JSON object for people and the run's record; empty: nothing.
  [[nodiscard]] virtual std::string state() const { return {}; }
  // What a checkpoint keeps of it, and how it goes on from there: with the same decisions as if it
  // had never ended. A policy whose decisions depend on what it was told overrides both. Bytes that
  // it cannot have written fail the reader (StateReader::require).
  virtual void save(StateWriter&) const {}
  virtual void restore(StateReader&) {}
};

}  // namespace kimesh
