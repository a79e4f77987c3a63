// Messages of one size. Where every link fills its own budget, sizes and codecs differ from link to
// link and from round to round: what a small message leaves out arrives with a later, larger one,
// in a burst. With the same bits an element in all messages of all rounds delay does little harm:
// residuals are larger, and the mesh needs fewer rounds (docs/experiments.md). So the mesh agrees
// on it, and changes it seldom (round/agreed_bits.h).
//
// Where data are alike and nodes look ahead, movements may be late by fifteen rounds (0.2 bits) at
// no cost, and by fifty (0.05) for a fifth more rounds. So messages have kEvenBits, or as few as
// make rounds hardly longer than a gradient (round/bits_by_rounds.h). Where even empty messages
// take longer than that, overlap and local steps hide their time better, and each link fills its
// own budget.
//
// Where data are unlike, each node's movement points to its own data, and the mesh moves well only
// if all of them arrive alike and soon. How many bits are best depends little on the links then:
// fewer leave so much out that rounds multiply, and more make a round longer for little. So
// messages have kEvenBits. A slow link makes rounds longer and messages smaller, down to kHalfBits.
// Where messages of int8 or int4 take half a gradient or less, they are all made so, without a
// coder.
//
// Where dense messages take half a gradient or less, all are dense.
#pragma once

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// Float32 values.
inline constexpr double kBitsOfDense = 32;

// The bits an element of even messages that dzq makes, and the fewest where data are alike, with
// which the cnn needs 1.6 times the rounds of dense messages. With fewer, local steps pay more.
inline constexpr double kEvenBits = 0.2, kLeastEvenBits = 0.0125;
// With so few bits unlike data need twice the rounds that large messages need, and with b bits
// they need 1 + (kHalfBits / b)² times as many (the cnn from 0.1 to 0.5; docs/experiments.md,
// Unlike data).
inline constexpr double kHalfBits = 0.085;
// With this room unlike data have kEvenBits, and blocks do not fit by far.
inline constexpr double kRoomForUsualBits = 0.25;
// Even messages are to take half of a gradient's time together.
inline constexpr double kExchangeOfEvenMessages = 0.5;
// Where data are alike messages are not even with less room than this, with which messages of
// kLeastEvenBits take a whole gradient.
inline constexpr double kRoomForEvenBits = kExchangeOfEvenMessages * kLeastEvenBits;
inline constexpr double kNoRoom = 1e-6;  // over 0, which says that no room was told

// The room that a link has for a message, in bits an element. If the messages of a round shared the
// time of a gradient, the link would carry the frame of this one and payload for so many bits; the
// room is kExchangeOfEvenMessages times these. From kNoRoom to kBitsOfDense. A guessed rate counts
// as it is. Requires a link that is known.
[[nodiscard]] double room_for_even_messages(const MessageContext& message);
// The same where data are unlike. `fixed`: what delays and work add to a round. Fewer bits shorten
// a round by less then, so that the room is that beside all of this, up to kRoomForUsualBits.
[[nodiscard]] double room_of_unlike_data(const MessageContext& message, Duration fixed);

// The bits an element of even messages with this room, where data are unlike: 32 for dense ones,
// those of int8 or int4, or the bits that make a run shortest, kEvenBits at most. They grow with
// the room.
[[nodiscard]] double even_bits_of_unlike_data(double room);
// The same where data are alike: 32, or kEvenBits, or fewer where there is no room for that. 0:
// the room is less than kRoomForEvenBits, and messages are not even.
[[nodiscard]] double even_bits_of_like_data(double room);

}  // namespace kimesh
