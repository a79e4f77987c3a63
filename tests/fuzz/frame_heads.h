#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "kimesh/wire/frame.h"
#include "tests/fuzz/target.h"

namespace kimesh::fuzz {

// Puts right the head of a frame of any bytes, all but its type and whether it is short.
inline void mend_head(std::span<std::byte> frame, RunTag tag) {
  const bool is_short = !frame.empty() && (frame[0] & std::byte{0x80}) != std::byte{0};
  const Bytes like = is_short ? encode_frame(Applied{}, tag) : encode_frame(Heartbeat{}, tag);
  const std::size_t type_at = is_short ? 0 : 3;
  const std::size_t size = std::min(is_short ? kShortHeadBytes : kFrameHeadBytes, frame.size());
  for (std::size_t i = 0; i < size; ++i)
    if (i != type_at) frame[i] = like[i];
}

}  // namespace kimesh::fuzz
