#include "outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The bytes from `begin` to `end`, fewer where `bytes` ends before.
std::span<const std::byte> part_of(std::span<const std::byte> bytes, std::size_t begin,
                                   std::size_t end) {
  const std::size_t from = std::min(begin, bytes.size());
  return bytes.subspan(from, std::min(end, bytes.size()) - from);
}

}  // namespace

void Outbox::push(std::vector<std::byte> head, Payload payload, double pace_bytes_per_s) {
  Held held;
  held.sequence = ++last_sequence_;
  KIMESH_CHECK(held.sequence >> (8 * kSequenceBytes) == 0, "a sequence has 48 bits");
  held.head = std::move(head);
  held.payload = std::move(payload);
  held.pace_bytes_per_s = pace_bytes_per_s;
  const std::size_t chunks = std::max<std::size_t>(chunk_count(held.size()), 1);
  KIMESH_CHECK(held.size() <= 0xffffffff && chunks <= 0xffff,
               "a message fits the 32 bits of its length and the 16 of its chunk count");
  held.chunks = static_cast<std::uint16_t>(chunks);
  messages_.push_back(std::move(held));
}

const Outbox::Held* Outbox::find(std::uint64_t sequence) const {
  const auto at = std::ranges::lower_bound(messages_, sequence, {}, &Held::sequence);
  return at != messages_.end() && at->sequence == sequence ? &*at : nullptr;
}

// Chunks differ by at most one byte: the first `size % count` of them have one more.
std::size_t Outbox::begin_of(const Held& message, unsigned index) {
  const std::size_t size = message.size() / message.chunks;
  const std::size_t longer = message.size() % message.chunks;
  return index * size + std::min<std::size_t>(index, longer);
}

Chunk Outbox::cut(const Held& message, std::uint16_t index) const {
  const std::size_t offset = begin_of(message, index), end = begin_of(message, index + 1U);
  Chunk chunk;
  chunk.sequence = message.sequence;
  chunk.index = index;
  chunk.count = message.chunks;
  const std::size_t head = message.head.size();
  // The chunk's bytes in the head, and those in the payload.
  chunk.bytes = part_of(message.head, offset, end);
  chunk.more = part_of(message.payload.bytes(), offset < head ? 0 : offset - head,
                       end < head ? 0 : end - head);
  if (chunk.bytes.empty()) std::swap(chunk.bytes, chunk.more);
  return chunk;
}

std::optional<Chunk> Outbox::next() const {
  const auto message = std::ranges::lower_bound(messages_, sending_, {}, &Held::sequence);
  if (message == messages_.end()) return std::nullopt;
  return cut(*message, message->sequence == sending_ ? next_index_ : std::uint16_t{0});
}

std::optional<Chunk> Outbox::chunk(std::uint64_t sequence, std::uint16_t index) const {
  const Held* message = find(sequence);
  if (!message || index >= message->chunks) return std::nullopt;
  return cut(*message, index);
}

double Outbox::pace_bytes_per_s(std::uint64_t sequence) const {
  const Held* message = find(sequence);
  return message ? message->pace_bytes_per_s : 0;
}

void Outbox::placed(TimePoint now, bool behind) {
  const auto message = std::ranges::lower_bound(messages_, sending_, {}, &Held::sequence);
  KIMESH_CHECK(message != messages_.end(), "only what next() gave is placed");
  if (message->sequence != sending_) next_index_ = 0;
  sending_ = message->sequence;
  if (!message->begun) {
    message->begun = now;
    // Control frames do not fill the pipe: a message follows only one that is not acked.
    message->followed = behind && message != messages_.begin();
  }
  if (++next_index_ < message->chunks) return;
  next_index_ = 0;
  ++sending_;
}

std::size_t Outbox::bytes_under_way() const {
  std::size_t bytes = 0;
  for (const Held& message : messages_) {
    if (message.sequence > sending_) break;
    bytes += message.sequence < sending_ ? message.size() : begin_of(message, next_index_);
  }
  return bytes;
}

void Outbox::limited(std::uint64_t sequence) {
  const auto at = std::ranges::lower_bound(messages_, sequence, {}, &Held::sequence);
  if (at != messages_.end() && at->sequence == sequence) at->limited = true;
}

std::optional<TimePoint> Outbox::begun(std::uint64_t sequence) const {
  const Held* message = find(sequence);
  return message ? message->begun : std::nullopt;
}

Result<std::optional<LinkSample>> Outbox::acked(const Ack& ack, TimePoint now) {
  if (ack.sequence == 0 || ack.sequence > last_sequence_)
    return Error{ErrorCode::kMalformed,
                 fmt::format("an ack of message {}, which was never sent", ack.sequence)};
  if (messages_.empty() || ack.sequence < messages_.front().sequence)
    return std::optional<LinkSample>{};
  const auto message = messages_.begin();
  if (ack.sequence != message->sequence)
    return Error{ErrorCode::kMalformed, fmt::format("an ack of message {} before message {}",
                                                    ack.sequence, message->sequence)};
  if (ack.bytes != message->size() || ack.chunks != message->chunks)
    return Error{ErrorCode::kMalformed,
                 fmt::format("an ack of message {} with another size", ack.sequence)};
  LinkSample sample;
  sample.bytes = wire_bytes(message->size(), message->chunks);
  sample.chunks = message->chunks;
  sample.tail_bytes = ack.tail_bytes;
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;  // a Duration holds it
  sample.tail_time = Duration(static_cast<std::int64_t>(std::min(ack.tail_ns, kLongest)));
  sample.followed = message->followed;
  // A message that has not begun on this connection was acked by the previous one: the ack says
  // nothing about time.
  sample.sender_limited = message->limited || !message->begun;
  TimePoint begin = message->begun.value_or(now);
  if (begin < last_ack_) sample.since_ack = now - last_ack_;
  if (message->followed) begin = std::max(begin, last_ack_);
  sample.elapsed = now - begin;
  last_ack_ = now;
  messages_.pop_front();
  return std::optional(sample);
}

void Outbox::restart() {
  sending_ = messages_.empty() ? last_sequence_ + 1 : messages_.front().sequence;
  next_index_ = 0;
  for (Held& message : messages_) {
    // The receiver may time a message from chunks of both connections: such a sample is left out.
    message.limited = message.limited || message.begun.has_value();
    message.begun.reset();
    message.followed = false;
  }
}

Result<std::size_t> Outbox::resume(std::uint64_t delivered, std::uint16_t held) {
  const std::uint64_t first = messages_.empty() ? last_sequence_ + 1 : messages_.front().sequence;
  if (delivered > last_sequence_ || delivered + 1 < first)
    return Error{ErrorCode::kMalformed, fmt::format("a welcome behind message {}, of {} to {}",
                                                    delivered, first, last_sequence_)};
  const Held* next = find(delivered + 1);
  if (held > 0 && (!next || held >= next->chunks))
    return Error{ErrorCode::kMalformed,
                 fmt::format("a welcome with {} chunks of message {}", held, delivered + 1)};
  const auto end = std::ranges::lower_bound(messages_, delivered + 1, {}, &Held::sequence);
  const auto count = static_cast<std::size_t>(end - messages_.begin());
  messages_.erase(messages_.begin(), end);
  sending_ = delivered + 1;
  next_index_ = held;
  return count;
}

}  // namespace kimesh
