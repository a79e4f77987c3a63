// Joins the chunks of one incoming link to messages. Each message is delivered once; each copy of
// it is acked, with its timing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

// Thread: the network's.
class Inbox {
 public:
  // `is_encrypted`: whether ZeroMQ's framing of the chunks is that of CURVE.
  explicit Inbox(std::size_t message_bytes_max, bool is_encrypted = false)
      : message_bytes_max_(message_bytes_max), is_encrypted_(is_encrypted) {}

  struct Arrival {
    std::optional<Ack> ack;                         // to send: the message is whole
    std::optional<std::vector<std::byte>> message;  // to deliver; nothing for a copy
  };
  // Takes a chunk that arrived at `now`. A message has its whole memory from its first chunk on,
  // at most the link's size, of which the pages are used that its bytes have reached.
  // `connection_bytes` are the bytes that the connection has brought by `now`, 0 where unknown:
  // TCP segments end anywhere in a chunk, and without the bytes of chunks that are not whole yet
  // the tail of a 5 KB message would look up to a fifth faster than the link. Errors: Malformed
  // (a message over the link's size, a gap, chunks that do not join); the partial message is
  // dropped.
  [[nodiscard]] Result<Arrival> add(const Chunk& chunk, TimePoint now,
                                    std::uint64_t connection_bytes = 0);

  // Whether add() looks at the connection's bytes with this chunk: the tail begins or ends behind
  // it. To ask the system with every chunk would take a call that waits for ZeroMQ's.
  [[nodiscard]] static bool bounds_tail(const Chunk& chunk) {
    const unsigned next = chunk.index + 1U;
    return next == chunk.count / 2U || next == chunk.count;
  }

  // Called for a new connection, on which the sender goes on behind what is here. Bytes are counted
  // anew.
  void restart() { partial_.half_bytes = 0; }
  // The highest sequence handed on, and how many chunks of the next message are here.
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint16_t held() const {
    return partial_.sequence > delivered_ ? partial_.next : std::uint16_t{0};
  }

 private:
  struct Partial {
    std::uint64_t sequence = 0;  // 0: none has begun
    std::uint32_t received = 0;
    std::uint16_t next = 0, count = 0;
    std::size_t chunk_bytes = 0;      // of the first chunk; others have as many, or one less
    std::uint32_t tail_bytes = 0;     // of the second half of the chunks, with their heads
    std::uint32_t framing_bytes = 0;  // ZeroMQ's, of those
    TimePoint half;                   // arrival of the last chunk of the first half
    std::uint64_t half_bytes = 0;     // what the connection had brought then
    std::vector<std::byte> bytes;     // stays empty for a copy
  };
  [[nodiscard]] std::optional<Error> problem(const Chunk& chunk) const;
  [[nodiscard]] Arrival finish(TimePoint now, std::uint64_t connection_bytes);
  [[nodiscard]] std::uint32_t tail_bytes(std::uint64_t connection_bytes) const;

  std::size_t message_bytes_max_;
  bool is_encrypted_;
  std::uint64_t delivered_ = 0;  // highest sequence delivered
  Partial partial_;
};

}  // namespace kimesh
