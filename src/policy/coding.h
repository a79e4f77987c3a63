// What a message of `policy: auto` is made with. The config's codec, dzq, needs fewest bytes for
// what it says, and takes a core's time to find them. Blocks of one size (int8, int4, sign) and
// topk are hardly more than copied. A message is dense, int8 or int4, whichever is the largest that
// fits; where only signs fit, the codec of signs, topk and dzq that its curve says leaves out
// least; else topk or dzq, by the costs of wire and coder. Where nothing is searched (round time,
// overlap and local steps are written) there are no curves, and no signs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// topk takes so many bytes for what dzq says in one (docs/figures.md, "Bytes and the entropy
// coder").
inline constexpr double kBytesOfPlain = 10;
// In one round of so many messages are coded all the same: that is how the time of coding is known.
inline constexpr Round kCodedEvery = 64;

// And so many messages at first.
inline constexpr unsigned kTimedEncodingsMin = 3;

// Budgets follow rates that are known to a fifth or so. Where the mesh has found the shortest time
// that holds blocks, every second message would be made with another codec: there blocks may be
// this factor larger than their budget.
inline constexpr double kBlocksOver = 1.25;

struct Coding {
  CodecPtr codec;
  std::size_t budget_bytes = 0;  // overhead included; without the coder's time where it has no part
  std::size_t payload_bytes = 0;  // that fit into the budget, or less where messages have one size
  std::optional<double>
      missing{};  // the energy that it is predicted to leave out, where that counted
};

// With the measured time of coding, what is known of the link, and the message's curve where it has
// one. `usual` is what the run's config says; any other than dzq is kept.
[[nodiscard]] Coding coding_of(const MessageContext& message, const CodecPtr& usual);

// The same for other times of the round, and with other limits of a shared gather: `messages` are
// alike but for these.
[[nodiscard]] std::vector<Coding> codings_of(std::span<const MessageContext> messages,
                                             const CodecPtr& usual);

// What the links of a message carry in time where nothing is coded: the limit of messages that
// others make, who know what they are made with.
[[nodiscard]] std::size_t budget_without_coder(const MessageContext& message,
                                               const CodecPtr& usual);

// Fills in what has not been predicted yet. Requires a curve.
void predict_missing(std::span<Coding> codings, const MessageContext& message);

// The rate that bounds a message (budget.cpp): β, or of a link whose β is a guess what it sustains.
[[nodiscard]] double bounding_rate(const MessageContext& message);
// What a byte of every message adds to a round (budget.cpp): in encoding, and on the wire.
[[nodiscard]] double encoding_s_per_byte(const MessageContext& message);
[[nodiscard]] double wire_s_per_byte(const MessageContext& message);

}  // namespace kimesh
