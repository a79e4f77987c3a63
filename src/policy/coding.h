// The choice of a message's codec under `policy: auto`. dzq, the config's codec, needs the fewest
// bytes for what it says, and much of a core's time. Block codecs, whose messages have one size
// (int8, int4, sign2, sign), and topk take little time. A message is dense, int8 or int4, the
// largest that fits. Where only sign2 or sign fits, the message's curve tells what signs
// (sign2, if both fit), topk and dzq would leave out, and so how late the message would be: the
// codec is taken whose delay and coding together cost a round least or, where it is not known what
// delay costs, the one that leaves out least. Where no block codec fits, dzq is used, unless a byte
// takes over nine times as long to code as to send, and topk leaves out less. Where the config
// gives round time, overlap and local steps, no curves are measured, signs are not used, and topk
// counts as leaving out less.
//
// Where the mesh has agreed on the bits of its messages (even_bits.h), these alone say the codec:
// dense, int8, int4 or, with fewer bits, dzq.
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

// Blocks may be larger than their budget by this factor where the mesh has chosen the round's time.
// It chooses the shortest time in which blocks fit, and rates are known within about a fifth:
// without the factor every second message would be made with another codec.
inline constexpr double kBlocksOver = 1.25;

struct Coding {
  CodecPtr codec;
  // Overhead included. The coder's time counts only where the codec has a coder.
  std::size_t budget_bytes = 0;
  // The payload that fits into the budget; of codecs with one size that of every message.
  std::size_t payload_bytes = 0;
  // The energy that the message is predicted to leave out; nothing: it was not predicted yet.
  std::optional<double> missing{};
};

// With the measured time of coding, what is known of the link, and the message's curve where it has
// one. `usual` is what the run's config says; any other than dzq is kept.
[[nodiscard]] Coding coding_of(const MessageContext& message, const CodecPtr& usual);

// The same for other times of the round, other limits of a shared gather and other bits of even
// messages: `messages` are alike but for these.
[[nodiscard]] std::vector<Coding> codings_of(std::span<const MessageContext> messages,
                                             const CodecPtr& usual);

// The budget of a message without the coder's time. It limits shared gathers, whose codec their
// owner chooses.
[[nodiscard]] std::size_t budget_without_coder(const MessageContext& message,
                                               const CodecPtr& usual);

// By how many rounds a message is late on the average, 1/α' − 1, that leaves out `missing` of the
// energy `whole`. A message that holds next to nothing is as late as one that brings every element
// in turn.
[[nodiscard]] double delay_of(double missing, double whole);

// Fills in Coding::missing where it is not known. Requires a curve.
void predict_missing(std::span<Coding> codings, const MessageContext& message);

// The rate that bounds a message (budget.cpp): β, or of a link whose β is a guess what it sustains.
[[nodiscard]] double bounding_rate(const MessageContext& message);
// What a byte of every message adds to a round (budget.cpp): in encoding, and on the wire.
[[nodiscard]] double encoding_s_per_byte(const MessageContext& message);
[[nodiscard]] double wire_s_per_byte(const MessageContext& message);

}  // namespace kimesh
