// What one outgoing link has to carry: messages in order, each cut into chunks, kept until it is
// acked. Pure: time is an argument, bytes go nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/util/ids.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

// Thread: the network's.
class Outbox {
 public:
  // Takes a message, which is `head` and then `payload`, under 4 GiB together. Requires less than
  // 2^48 messages before it.
  void push(std::vector<std::byte> head, Payload payload);

  // The chunk that comes next; nothing: all of them have been placed. Its bytes point into the
  // message, which stays where it is until its ack.
  [[nodiscard]] std::optional<Chunk> next() const;
  // The pipe (a socket, or the emulated link) has taken next(). `behind`: it still held bytes to
  // send then, so a message that begins now follows the one before without a gap.
  void placed(TimePoint now, bool behind);
  // The chunk of a message that is still held, whether placed or not: an emulated link names it
  // when it has left.
  [[nodiscard]] std::optional<Chunk> chunk(std::uint64_t sequence, std::uint16_t index) const;

  // Our own process let the pipe of this message run empty or was late: its sample is of no use for
  // the rate.
  void limited(std::uint64_t sequence);
  // When the pipe began to carry a message, if it has.
  [[nodiscard]] std::optional<TimePoint> begun(std::uint64_t sequence) const;

  // The far side holds the message. Nothing: it was acked before (a copy that crossed a reconnect).
  // Errors: Malformed, where no such message was ever sent or its size is another.
  [[nodiscard]] Result<std::optional<LinkSample>> acked(const Ack& ack, TimePoint now);

  // The connection is new: what is not acked goes again, from its first chunk.
  void restart();

  [[nodiscard]] std::size_t held() const { return messages_.size(); }

 private:
  struct Held {
    std::uint64_t sequence = 0;
    std::vector<std::byte> head;
    Payload payload;
    std::uint16_t chunks = 0;
    std::optional<TimePoint> begun;
    bool followed = false, limited = false;
    [[nodiscard]] std::size_t size() const { return head.size() + payload.size(); }
  };
  [[nodiscard]] const Held* find(std::uint64_t sequence) const;
  [[nodiscard]] Chunk cut(const Held& message, std::uint16_t index) const;

  std::deque<Held> messages_;        // by sequence
  std::uint64_t last_sequence_ = 0;  // given out so far
  std::uint64_t sending_ = 1;        // message of which chunks are to be placed
  std::uint16_t next_index_ = 0;     // its next chunk
  TimePoint last_ack_{};             // of any message
};

}  // namespace kimesh
