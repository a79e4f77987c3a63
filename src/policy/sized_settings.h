// Makes the setting of a message from a codec and a size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// The setting of a message with this budget; rounding follows from its route. Dense where a dense
// message is surely no longer.
[[nodiscard]] Setting sized(const CodecPtr& codec, Budget budget, const MessageContext& message);

// The rounding of values on this message's route: to nearest, unless it is compressed again.
[[nodiscard]] Rounding rounding_on(const MessageContext& message);

// The setting of the largest message whose payload takes at most `payload_bytes`, which is at least
// the payload of the floor.
[[nodiscard]] Setting sized_within(const CodecPtr& codec, std::size_t payload_bytes,
                                   const MessageContext& message);

// The setting of the largest message that `budget` bytes hold, overhead included; that of the floor
// where they hold less. The budget of the choice is at least the message.
[[nodiscard]] Choice spend(std::size_t budget, const MessageContext& message,
                           const CodecPtr& codec);

}  // namespace kimesh
