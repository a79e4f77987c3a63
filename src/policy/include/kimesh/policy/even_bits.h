// Messages of one size where the data of nodes are unlike. Each node's movement points to its own
// data then, and the mesh moves well only if all of them arrive alike. Where every link fills its
// own budget, sizes and codecs differ from link to link and from round to round: one node's
// residual arrives in full while another one's grows, and the parameters swing between the nodes'
// data. With the same bits an element in all messages of all rounds residuals are larger, and the
// mesh needs a quarter fewer rounds (docs/figures.md). So the mesh agrees on what its slowest link
// carries, and changes it seldom (round/agreed_bits.h).
#pragma once

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// Float32 values.
inline constexpr double kBitsOfDense = 32;

// The most bits an element that messages may have: if a coder makes them, and if none does. 0:
// nothing limits them.
struct BitsRoom {
  double coded = 0, plain = 0;
  bool operator==(const BitsRoom&) const = default;
};

// What the budget of this message leaves. `usual` is the codec that the run's config says.
[[nodiscard]] BitsRoom bits_room(const MessageContext& message, const CodecPtr& usual);

// The bits an element of messages with this room: those of the largest block codec that fits
// (sign, which leaves out too much, is none of them), else what the coder may take. Dense messages
// have 32. It grows with the room.
[[nodiscard]] double even_bits_within(const BitsRoom& room);

}  // namespace kimesh
