// Signs of life of a far node whose frame is still on its way: bytes of it that TCP has brought to
// this machine. A link on which a chunk takes longer than dead_after has no other sign.
#pragma once

#include <cstdint>
#include <optional>

#include "kimesh/link/limits.h"
#include "kimesh/util/ids.h"
#include "zmtp.h"

namespace kimesh {

// The bytes that make one sign of life. An attacker between the two nodes can insert bytes into a
// connection until one frame of them is complete and is rejected. A dead node then seems alive for
// at most kFrameBytes / kSignBytes = 33 times dead_after, and for longer if a sign took fewer
// bytes. More bytes would need a faster link: 2.5 kbit/s carry these in time, where dead_after is
// 15 s and a look comes each second.
inline constexpr std::uint64_t kSignBytes = 4 * 1024;

// Finds the signs of life of one connection whose hello was accepted. It looks at TCP only while
// no frame comes: once a heartbeat, since an idle connection brings a frame as often. Pure.
// Thread: the network's.
class ArrivingBytes {
 public:
  // A whole frame has come, or the connection has begun. Bytes count from the next look on: those
  // before it may have arrived before the frame.
  void frame(TimePoint now) {
    looked_ = now;
    first_.reset();
  }
  [[nodiscard]] TimePoint next_look(Duration heartbeat) const { return looked_ + heartbeat; }
  // `received`: the bytes that the connection has brought in all, 0 where unknown. Returns true
  // where kSignBytes have come since the last sign, and since the last frame no more bytes than the
  // largest frame of a correct peer has.
  [[nodiscard]] bool look(std::uint64_t received, TimePoint now) {
    looked_ = now;
    if (!first_) first_ = counted_ = received;
    if (received < counted_ + kSignBytes || received > *first_ + kFrameBytes) return false;
    counted_ = received;
    return true;
  }

 private:
  static constexpr std::uint64_t kFrameBytes =
      kChunkFrameBytesMax + zmtp_overhead_bytes(kChunkFrameBytesMax, true);
  TimePoint looked_{};
  std::optional<std::uint64_t> first_;  // `received` at the first look since the last frame
  std::uint64_t counted_ = 0;           // `received` at the last sign, or at that look
};

}  // namespace kimesh
