// Signs of life of a far node whose frame is still on its way: bytes of it that TCP has brought to
// this machine. A link on which a chunk takes longer than dead_after has no other sign.
#pragma once

#include <cstdint>
#include <optional>

#include "kimesh/link/limits.h"
#include "kimesh/util/ids.h"
#include "zmtp.h"

namespace kimesh {

// So many bytes are a sign of life. Somebody between the two nodes can add bytes to a connection
// until the first frame of theirs is whole and found wrong: with that a dead node seems alive for
// kFrameBytes / kSignBytes = 33 times dead_after at most, and with fewer bytes for a sign it would
// for longer. More bytes would ask more of a link: these come in time at 2.5 kbit/s, where
// dead_after is 15 s and a look comes each second.
inline constexpr std::uint64_t kSignBytes = 4 * 1024;

// Of one connection that has said a good hello. Looks at TCP only while no frame comes: once a
// heartbeat, since an idle connection brings a frame as often. Pure. Thread: the network's.
class ArrivingBytes {
 public:
  // A whole frame has come, or the connection has begun: bytes count from the next look on, since
  // those of before may be older.
  void frame(TimePoint now) {
    looked_ = now;
    first_.reset();
  }
  [[nodiscard]] TimePoint next_look(Duration heartbeat) const { return looked_ + heartbeat; }
  // `received`: what the connection has brought in all, 0 where unknown. True: kSignBytes have come
  // since the last sign, and since the last frame no more than one frame of an honest peer.
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
  std::optional<std::uint64_t> first_;  // `received` of the first look since the last frame
  std::uint64_t counted_ = 0;           // and of the last sign
};

}  // namespace kimesh
