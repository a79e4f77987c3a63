// Bytes that ZeroMQ adds to a frame on a TCP connection (rfc.zeromq.org/spec/37).
#pragma once

#include <cstddef>

namespace kimesh {

// The frame's flags and length.
inline std::size_t zmtp_head_bytes(std::size_t frame_bytes) {
  constexpr std::size_t kShort = 2, kLong = 9, kShortMax = 255;
  return frame_bytes > kShortMax ? kLong : kShort;
}

}  // namespace kimesh
