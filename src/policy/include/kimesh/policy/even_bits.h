// Messages of one size where the data of nodes are unlike. Each node's movement points to its own
// data then, and the mesh moves well only if all of them arrive alike. Where every link fills its
// own budget, sizes and codecs differ from link to link and from round to round: one node's
// residual arrives in full while another one's grows, and the parameters swing between the nodes'
// data. With the same bits an element in all messages of all rounds residuals are larger, and the
// mesh needs a quarter fewer rounds (docs/figures.md). So the mesh agrees on it, and changes it
// seldom (round/agreed_bits.h).
//
// How many bits are best depends on the movements, and hardly on the links. The cnn takes least
// time with 0.15 to 0.3 at 1, 10 and 100 Mbit/s: fewer leave so much out that rounds multiply, and
// more make a round longer for little. So messages have kEvenBits, and a slow link makes rounds
// longer. Where dense messages, or those of int8 or int4, take half a gradient or less, they are
// all made so, without a coder.
#pragma once

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// Float32 values.
inline constexpr double kBitsOfDense = 32;

// The bits an element of even messages that dzq makes.
inline constexpr double kEvenBits = 0.2;
// The exchange in which block messages have to fit, in gradients.
inline constexpr double kExchangeOfEvenBlocks = 0.5;

// The bits an element that this message's link carries in its slot of an exchange of
// kExchangeOfEvenBlocks gradients, at most kBitsOfDense. A guessed rate counts as it is. Requires a
// link that is known.
[[nodiscard]] double room_for_blocks(const MessageContext& message);

// The bits an element of even messages with this room: 32 for dense ones, those of int8 or int4, or
// kEvenBits. They grow with the room.
[[nodiscard]] double even_bits_within(double room);

}  // namespace kimesh
