// The measurement of one acked message on its link. Live and simulated links fill the same record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "kimesh/util/ids.h"

namespace kimesh {

// The receiver's clock and the sender's are never compared: each time is a difference on one of
// them.
struct LinkSample {
  std::size_t bytes = 0;  // on the wire, with frame headers
  // Sender: from when the pipe began to carry this message until its ack. The begin is that of the
  // first chunk, or the ack of the previous message where this one followed without a gap.
  Duration elapsed{0};
  bool followed = false;  // the pipe still held the previous message when this one began: `elapsed`
                          // holds no fixed cost
  // Sender: the time between the ack of the previous message and that of this one. Nothing where
  // this message began after the previous one's ack.
  std::optional<Duration> since_ack;
  std::uint16_t chunks = 0;
  // Receiver: bytes of the second half of the chunks, and the time from the last chunk of the first
  // half to the last chunk.
  std::size_t tail_bytes = 0;
  Duration tail_time{0};
  Duration round_trip{0};       // of an empty packet; 0: not known. It is in `elapsed`
  bool sender_limited = false;  // the sender did not keep the pipe full: of no use for the rate
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.bytes, self.elapsed, self.followed, self.since_ack, self.chunks,
                    self.tail_bytes, self.tail_time, self.round_trip, self.sender_limited);
  }
};

// A tail tells the link's rate where it is at least this long, against the errors of arrival times,
// of wake-ups and of line speed.
inline constexpr double kTailSecondsMin = 0.002;

// Messages travel as about 8 equal chunks, so that the receiver can measure the rate of the second
// half (error measured at 1 MB: 0.3 % p50, 1.2 % p95).
inline constexpr std::size_t kChunksPerMessage = 8;
inline constexpr std::size_t kChunkBytesMin = 512;  // below, chunks' heads take over 4 %
// A dense message of 1 MiB and its head fill 8 chunks, which take a third fewer system calls than
// 17 chunks of 64 KiB. Larger chunks would need links that break less often: one that breaks more
// often than a chunk takes delivers nothing.
inline constexpr std::size_t kChunkBytesMax = 129 * 1024;

// The number of chunks of a message of `bytes` bytes: 8 where their size stays within the bounds.
// Chunks differ by at most one byte.
[[nodiscard]] std::size_t chunk_count(std::size_t bytes);

}  // namespace kimesh
