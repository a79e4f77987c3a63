// From a codec and a size to the setting of a message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// A message with this budget on its route: how values are rounded, and whether the link is faster
// than an entropy coder. Dense where that is surely no longer.
[[nodiscard]] Setting sized(const CodecPtr& codec, Budget budget, const MessageContext& message);

// How values are rounded on this message's route: to nearest where a round has one hop each way.
[[nodiscard]] Rounding rounding_on(const MessageContext& message);

// The largest message whose payload takes at most `payload_bytes`. Requires at least the codec's
// floor.
[[nodiscard]] Setting sized_within(const CodecPtr& codec, std::size_t payload_bytes,
                                   const MessageContext& message);

// The largest message that `budget` bytes hold, overhead included; the floor where they hold less.
// The budget of the answer is at least the message.
[[nodiscard]] Choice spend(std::size_t budget, const MessageContext& message,
                           const CodecPtr& codec);

}  // namespace kimesh
