// The bytes of a message on the wire: payload, headers and control, and what each chunk adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kimesh/codec/codec.h"
#include "kimesh/policy/policy.h"

namespace kimesh {

// The number of elements that a channel sends at least.
inline std::uint32_t floor_keep(std::size_t elements) {
  const double keep = std::ceil(kFloorRatio * static_cast<double>(elements));
  return static_cast<std::uint32_t>(std::max(1.0, keep));
}

// Payload bytes of the floor's elements, or of a dense message where that is less.
inline std::size_t floor_payload(const Codec& codec, std::size_t elements) {
  return std::min(codec.bytes_about(floor_keep(elements), elements), dense_bytes(elements));
}

// Bytes of a message with this payload, overhead included.
inline std::size_t whole_bytes(std::size_t payload_bytes, const MessageContext& message) {
  const std::size_t bytes = payload_bytes + message.overhead_bytes;
  return bytes + message.chunk_overhead_bytes * chunk_count(bytes);
}

// The smallest message that may be sent, overhead included.
inline std::size_t floor_bytes(const MessageContext& message, const Codec& codec) {
  return whole_bytes(floor_payload(codec, message.elements), message);
}

// A payload whose message fits into the budget; 0 where none does. It is the largest, except where
// one more chunk would begin.
inline std::size_t payload_that_fits(std::size_t budget_bytes, const MessageContext& message) {
  const auto without_chunks = [&](std::size_t chunks) {
    const std::size_t overhead = message.chunk_overhead_bytes * chunks;
    return budget_bytes - (overhead < budget_bytes ? overhead : budget_bytes);
  };
  // The message has at most as many chunks as the whole budget would have, and often fewer.
  const std::size_t safe = without_chunks(chunk_count(budget_bytes));
  const std::size_t more = without_chunks(chunk_count(safe));
  const std::size_t bytes = chunk_count(more) == chunk_count(safe) ? more : safe;
  return bytes - (message.overhead_bytes < bytes ? message.overhead_bytes : bytes);
}

}  // namespace kimesh
