// What a message of `policy: auto` is made with. dzq needs about a tenth of the bytes that topk
// needs, and takes a core's time to find them. Where the wire costs less than that, messages are
// copied: topk, and dense as soon as a dense message fits.
#pragma once

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

struct Coding {
  CodecPtr codec;
  MessageContext
      message;  // as budgets are to see it: without the coder's time where it has no part
};

// With the measured time of coding and what is known of the link. `usual` is what the run's config
// says; any other than dzq is kept.
[[nodiscard]] Coding coding_of(const MessageContext& message, const CodecPtr& usual);

// The rate that bounds a message (budget.cpp): β, or of a link whose β is a guess what it sustains.
[[nodiscard]] double bounding_rate(const MessageContext& message);
// What a byte of every message adds to a round (budget.cpp): in encoding, and on the wire.
[[nodiscard]] double encoding_s_per_byte(const MessageContext& message);
[[nodiscard]] double wire_s_per_byte(const MessageContext& message);

}  // namespace kimesh
