// What ZeroMQ holds of the frames that one connection has brought. Its high-water marks count
// messages that have ended, so that one of endless parts passes all of them: this counts bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fd.h"

namespace kimesh {

// Pure but for the look into TCP. Thread: the network's.
class UndeliveredBytes {
 public:
  // Whatever the connection has brought by now counts as delivered.
  void begin(const TcpPeek& tcp) { delivered_ = tcp.received(); }
  // Notes that a frame of it, without ZeroMQ's framing, was read.
  void delivered(std::size_t frame_bytes) { delivered_ += frame_bytes + kFramingMax; }
  // Whether ZeroMQ holds more than `most`. Bytes that are still in the kernel do not count.
  [[nodiscard]] bool exceed(const TcpPeek& tcp, std::uint64_t most) {
    const std::uint64_t received = tcp.received();
    delivered_ = std::min(delivered_, received);
    return received - delivered_ > tcp.unread() + most;
  }

 private:
  // What ZeroMQ adds to a frame at most, encryption included. Too much does no harm: a connection
  // is never believed to have delivered more than it has brought.
  static constexpr std::uint64_t kFramingMax = 64;
  std::uint64_t delivered_ = 0;
};

}  // namespace kimesh
