#include "inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "zmtp.h"

namespace kimesh {

std::optional<Error> Inbox::problem(const Chunk& chunk) const {
  const auto malformed = [](std::string what) {
    return Error{ErrorCode::kMalformed, std::move(what)};
  };
  if (chunk.bytes.empty() && chunk.count > 1) return malformed("a chunk without content");
  // The least bytes of the message. Each chunk has as many as the first, or one less.
  const std::size_t size = chunk.bytes.size();
  const std::size_t least =
      chunk.index == 0 ? chunk.count * size - (chunk.count - 1U) : partial_.received + size;
  if (least > message_bytes_max_)
    return malformed(fmt::format("a message of over {} bytes, the most that the plan allows",
                                 message_bytes_max_));
  if (chunk.sequence > delivered_ + 1)
    return malformed(fmt::format("message {} before message {}", chunk.sequence, delivered_ + 1));
  if (chunk.index == 0) return std::nullopt;
  if (chunk.sequence != partial_.sequence || chunk.index != partial_.next ||
      chunk.count != partial_.count || size > partial_.chunk_bytes ||
      size + 1 < partial_.chunk_bytes)
    return malformed(fmt::format("a chunk that does not join message {}", chunk.sequence));
  return std::nullopt;
}

Result<Inbox::Arrival> Inbox::add(const Chunk& chunk, TimePoint now,
                                  std::uint64_t connection_bytes) {
  if (auto error = problem(chunk)) {
    partial_ = {};
    return *std::move(error);
  }
  if (chunk.index == 0) {
    partial_ = {};
    partial_.sequence = chunk.sequence;
    partial_.count = chunk.count;
    partial_.chunk_bytes = chunk.bytes.size();
    const std::size_t most = chunk.count * chunk.bytes.size();
    if (chunk.sequence > delivered_) partial_.bytes.reserve(std::min(most, message_bytes_max_));
  }
  const auto size = static_cast<std::uint32_t>(chunk.bytes.size());
  partial_.received += size;
  partial_.next = static_cast<std::uint16_t>(chunk.index + 1);
  const unsigned half = chunk.count / 2;
  if (partial_.next == half) {
    partial_.half = now;
    partial_.half_bytes = connection_bytes;
  } else if (partial_.next > half) {
    const std::size_t frame = size + kChunkHeadBytes;
    partial_.tail_bytes += static_cast<std::uint32_t>(frame);
    partial_.framing_bytes += static_cast<std::uint32_t>(zmtp_overhead_bytes(frame, is_encrypted_));
  }
  if (chunk.sequence > delivered_)
    partial_.bytes.insert(partial_.bytes.end(), chunk.bytes.begin(), chunk.bytes.end());

  if (partial_.next < partial_.count) return Arrival{};
  return finish(now, connection_bytes);
}

// Bytes that arrived between the two time stamps, without ZeroMQ's framing, which no message
// counts.
std::uint32_t Inbox::tail_bytes(std::uint64_t connection_bytes) const {
  if (partial_.half_bytes == 0 || connection_bytes < partial_.half_bytes)
    return partial_.tail_bytes;
  const double arrived = static_cast<double>(connection_bytes - partial_.half_bytes);
  const double ours = partial_.tail_bytes, framing = partial_.framing_bytes;
  return static_cast<std::uint32_t>(std::min(std::round(arrived * ours / (ours + framing)), 4e9));
}

Inbox::Arrival Inbox::finish(TimePoint now, std::uint64_t connection_bytes) {
  Arrival arrival;
  arrival.ack = Ack{.sequence = partial_.sequence,
                    .bytes = partial_.received,
                    .tail_bytes = 0,
                    .tail_ns = 0,
                    .chunks = partial_.count};
  if (partial_.count >= 2) {
    arrival.ack->tail_bytes = tail_bytes(connection_bytes);
    arrival.ack->tail_ns = static_cast<std::uint64_t>((now - partial_.half).count());
  }
  if (partial_.sequence > delivered_) {
    delivered_ = partial_.sequence;
    arrival.message = std::move(partial_.bytes);
  }
  partial_ = {};
  return arrival;
}

}  // namespace kimesh
