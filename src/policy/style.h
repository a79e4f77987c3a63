// From a policy's style and a size to the setting of a message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/policy/policy.h"

namespace kimesh {

// Whether a message's length follows from the number of its elements, 8 bytes each.
[[nodiscard]] bool counts_elements(const Setting& style);
// What an element that is sent takes, about; for dividing bytes, not for promises.
[[nodiscard]] double bytes_per_kept(const Setting& style);

// The style on this message's route: how values are rounded, and which coder keeps up with the
// link.
[[nodiscard]] Setting on_route(const Setting& style, const MessageContext& message);

// A message of the length that its style makes it; dense where that is surely no longer.
[[nodiscard]] Setting as_it_is(const Setting& style, const MessageContext& message);
// A message of `keep` elements; dense where that is no longer.
[[nodiscard]] Setting keeping(const Setting& style, std::uint32_t keep,
                              const MessageContext& message);
// A message of at most `payload_bytes`. Requires at least the floor of the style.
[[nodiscard]] Setting filling(const Setting& style, std::size_t payload_bytes,
                              const MessageContext& message);

}  // namespace kimesh
