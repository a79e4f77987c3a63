// The messages of one outgoing link, in order, each cut into chunks and kept until it is acked.
// Pure: time is an argument, and nothing is sent here.
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
  void push(std::vector<std::byte> head, Payload payload, double pace_bytes_per_s = 0);

  // The next chunk to place; nothing: all are placed. Its bytes lie in the message, which stays
  // where it is until its ack.
  [[nodiscard]] std::optional<Chunk> next() const;
  // SendMessage::pace_bytes_per_s of a message that is not acked yet.
  [[nodiscard]] double pace_bytes_per_s(std::uint64_t sequence) const;
  // Notes that the pipe (a socket, or the emulated link) has taken next(). `behind`: the pipe still
  // held bytes to send, so that a message that begins now follows the previous one without a gap.
  void placed(TimePoint now, bool behind);
  // A chunk of a message that is not acked yet, placed or not; an emulated link names the chunk
  // that has left it.
  [[nodiscard]] std::optional<Chunk> chunk(std::uint64_t sequence, std::uint16_t index) const;

  // Notes that this process let the pipe run empty, or was late, during the message: its sample
  // says nothing of the rate.
  void limited(std::uint64_t sequence);
  // The time at which the pipe began to carry a message; nothing: it has not.
  [[nodiscard]] std::optional<TimePoint> begun(std::uint64_t sequence) const;

  // Removes the oldest message, which the far side has, and returns its sample; nothing: the
  // message was acked before, as a copy after a reconnect is. Errors: Malformed, where no such
  // message was ever sent, an older one is not acked yet, or its size is another.
  [[nodiscard]] Result<std::optional<LinkSample>> acked(const Ack& ack, TimePoint now);

  // Called when a connection has ended. What was under way on it says nothing of the rate.
  void restart();
  // Goes on where the far side is, on a new connection: it has handed on all messages up to
  // `delivered`, and holds the first `held` chunks of the next one. Removes those that it has, and
  // returns how many these are. Errors: Malformed, where it cannot be there.
  [[nodiscard]] Result<std::size_t> resume(std::uint64_t delivered, std::uint16_t held);

  [[nodiscard]] std::size_t held() const { return messages_.size(); }
  // Bytes of messages that the pipe has taken, and that are not known to have arrived.
  [[nodiscard]] std::size_t bytes_under_way() const;

 private:
  struct Held {
    std::uint64_t sequence = 0;
    std::vector<std::byte> head;
    Payload payload;
    std::uint16_t chunks = 0;
    double pace_bytes_per_s = 0;
    std::optional<TimePoint> begun;
    bool followed = false, limited = false;
    [[nodiscard]] std::size_t size() const { return head.size() + payload.size(); }
  };
  [[nodiscard]] const Held* find(std::uint64_t sequence) const;
  // Where in the message the chunk begins.
  [[nodiscard]] static std::size_t begin_of(const Held& message, unsigned index);
  [[nodiscard]] Chunk cut(const Held& message, std::uint16_t index) const;

  std::deque<Held> messages_;        // by sequence, without gaps
  std::uint64_t last_sequence_ = 0;  // given out so far
  std::uint64_t sending_ = 1;        // message of which chunks are to be placed
  std::uint16_t next_index_ = 0;     // its next chunk
  TimePoint last_ack_{};             // of any message
};

}  // namespace kimesh
