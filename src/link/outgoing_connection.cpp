#include "outgoing_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "accepted_connections.h"
#include "handshake.h"
#include "kimesh/link/limits.h"
#include "kimesh/util/overloaded.h"
#include "zmtp.h"

namespace kimesh {
namespace {

// A ROUTER does not say which peer has room: a full connection is tried again after this, and then
// less and less often.
constexpr Duration kRetryRoom = std::chrono::milliseconds(1);
constexpr Duration kRetryRoomMax = std::chrono::milliseconds(16);

// A frame that left an emulated link later than this, both absolutely and as a part of its
// message's time, makes the sample useless.
constexpr Duration kLate = std::chrono::milliseconds(1);
constexpr int kLatePart = 10;

}  // namespace

OutgoingConnection::OutgoingConnection(OutgoingLink spec, Shared shared,
                                       std::optional<std::size_t> shaper_index)
    : spec_(std::move(spec)),
      shared_(std::move(shared)),
      tag_(shared_.hello.tag()),
      shaper_index_(shaper_index),
      dialled_({shared_.zmq, shared_.events, shared_.curve, shared_.hello.from, shared_.names},
               {spec_.to, spec_.name}) {
  shared_.hello.to = spec_.name;
  if (spec_.awaits)
    state_ = State::kDialling;  // the far node does
  else if (!spec_.endpoint.empty())
    dial(spec_.endpoint);
}

void OutgoingConnection::dial(const std::string& endpoint) {
  KIMESH_CHECK(state_ == State::kIdle && !spec_.awaits, "a link is dialled once");
  state_ = dialled_.dial(endpoint) ? State::kDialling : State::kClosed;
}

bool OutgoingConnection::accept(const Hello& hello, Accepted accepted, TimePoint now) {
  if (std::exchange(accepted_process_, hello.incarnation) != hello.incarnation)
    accepted_number_ = 0;
  if (hello.connection < accepted_number_) return false;
  const bool again = is_ready() && accepted_.routing_id == accepted.routing_id;
  if (!again && is_ready()) lost();
  accepted_number_ = hello.connection;
  const Welcome welcome{.from = shared_.hello.from,
                        .incarnation = shared_.hello.incarnation,
                        .connection = hello.connection};
  if (again) {  // it repeats its hello
    control(welcome);
    return true;
  }
  ended_id_.reset();
  accepted_tcp_ = TcpPeek(accepted.fd);
  accepted_tcp_.limit_unsent(kUnsentBytes);
  accepted_ = std::move(accepted);
  counters_.frame_bytes += zmtp_greeting_bytes(shared_.curve != nullptr, true);
  control_.clear();
  control(welcome);
  // What it holds of an earlier process of ours it gives up when it reads our welcome.
  const bool of_us = hello.sender == shared_.hello.incarnation;
  of_us ? ready(hello.delivered, hello.held, now) : ready(0, 0, now);
  return true;
}

void OutgoingConnection::send(SendMessage action) {
  Message& message = action.message;
  std::vector<std::byte> head = encode_message_head(message);
  const std::size_t size = head.size() + message.payload.size();
  ++counters_.payload_messages;
  counters_.message_bytes += wire_bytes(size, std::max<std::size_t>(chunk_count(size), 1));
  if (state_ != State::kClosed)
    outbox_.push(std::move(head), std::move(message.payload), action.pace_bytes_per_s);
}

// A halt behind data would wait for all of it. The connection is cut, and the next one sends the
// halt first. The kernel alone does not tell: what ZeroMQ has yet to encrypt is not there.
void OutgoingConnection::send_halt(const Halt& halt) {
  halt_ = halt;
  if (state_ != State::kReady) return;
  const bool is_next =
      tcp().drained() && (shaper_index_ || outbox_.bytes_under_way() <= kChunkFrameBytesMax);
  if (!tcp() || is_next) return control_halt();
  halt_waits_ = true;
  cut();
}

void OutgoingConnection::control_halt() {
  control(*halt_);
  shared_.peers.told_of_halt(spec_.to, true);
}

void OutgoingConnection::send_bye() {
  bye_ = true;
  if (state_ == State::kReady) control(Bye{shared_.hello.from});
}

void OutgoingConnection::cut() {
  count_tcp();
  tcp().break_connection();
  tcp() = TcpPeek();
}

void OutgoingConnection::read_monitor() {
  while (const auto change = dialled_.next_change())
    *change == DialledSocket::Change::kUp ? connected() : lost();
}

void OutgoingConnection::connected() {
  counters_.frame_bytes += zmtp_greeting_bytes(shared_.curve != nullptr, false);
  state_ = State::kGreeting;
  control_.clear();
  ++shared_.hello.connection;
  control(shared_.hello);
}

void OutgoingConnection::count_tcp() {
  const TcpPeek::Bytes bytes = tcp().bytes();
  counters_.tcp_bytes_sent += bytes.sent;
  counters_.tcp_bytes_retransmitted += bytes.retransmitted;
}

bool OutgoingConnection::hears(const std::string& routing_id) const {
  return is_ready() ? accepted_.routing_id == routing_id : ended_id_ == routing_id;
}

void OutgoingConnection::lost() {
  count_tcp();
  tcp() = TcpPeek();
  if (accepted_.router) ended_id_ = accepted_.routing_id;
  accepted_ = {};
  unreachable_ = false;
  // The halt may not have come through. Where this node dials, a flush hangs up once the halt is on
  // the socket, so that only a halt that is still queued counts as lost.
  if (spec_.awaits || !control_.empty()) shared_.peers.told_of_halt(spec_.to, false);
  control_.clear();
  due_.clear();
  if (shaper_index_) shared_.shaper.clear(std::chrono::steady_clock::now(), *shaper_index_);
  outbox_.restart();
  blocked_ = stalled_ = false;
  emulated_ = 0;
  shared_.peers.outgoing(spec_.to, false);
  if (state_ == State::kReady) shared_.events.push(LinkDown{spec_.link});
  if (state_ != State::kClosed) state_ = State::kDialling;
}

void OutgoingConnection::close() {
  state_ = State::kClosed;
  halt_waits_ = false;
  lost();
  ended_id_.reset();
  dialled_.close();
}

void OutgoingConnection::dial_again(const std::string& sentence) {
  shared_.events.push_once({sentence, spec_.to, true}, EventGate::peer(spec_.to));
  if (state_ == State::kGreeting || state_ == State::kReady) lost();
  dialled_.hang_up();
}

void OutgoingConnection::refuse(std::string sentence) {
  if (!spec_.awaits && shared_.peers.may_come_again(spec_.to)) return dial_again(sentence);
  close();
  shared_.events.push(LinkRefused{spec_.link, std::move(sentence)});
}

SendOutcome OutgoingConnection::send(std::initializer_list<std::span<const std::byte>> parts) {
  if (!spec_.awaits) return dialled_.send(parts);
  if (!accepted_.router) return SendOutcome::kUnreachable;
  return accepted_.router->send(parts, accepted_.routing_id);
}

bool OutgoingConnection::put(std::initializer_list<std::span<const std::byte>> parts,
                             TimePoint now) {
  const SendOutcome sent = send(parts);
  if (sent != SendOutcome::kSent) {
    unreachable_ = spec_.awaits && sent == SendOutcome::kUnreachable;
    retry_ = blocked_ ? retry_ : std::clamp(2 * retry_, kRetryRoom, kRetryRoomMax);
    blocked_ = true;
    return false;
  }
  retry_ = Duration{0};
  std::size_t size = 0;
  for (const auto part : parts) size += part.size();
  counters_.frame_bytes += size + zmtp_overhead_bytes(size, shared_.curve != nullptr);
  last_put_ = now;
  return true;
}

bool OutgoingConnection::put(const Chunk& chunk, TimePoint now) {
  std::array<std::byte, kChunkHeadBytes> head;
  encode_chunk_head(chunk, tag_, head);
  return put({head, chunk.bytes, chunk.more}, now);
}

bool OutgoingConnection::put_control(TimePoint now) {
  for (; !control_.empty(); control_.pop_front())
    if (!put({control_.front()}, now)) return false;
  return true;
}

void OutgoingConnection::pump(TimePoint now) {
  blocked_ = false;
  if (dialled_.floods(now)) refuse(sentence_flood(spec_.name));
  dialled_.redial(now);
  if (state_ != State::kGreeting && state_ != State::kReady) return;
  keep_alive(now);
  if (put_control(now) && state_ == State::kReady && !halt_)
    shaper_index_ ? put_emulated(now) : put_direct(now);
  if (!unreachable_) return;
  accepted_.all->release(accepted_.fd, now);  // the descriptor may be a stranger's by now
  lost();
}

void OutgoingConnection::put_direct(TimePoint now) {
  while (const auto chunk = outbox_.next()) {
    // Only a message that begins, and one behind a full socket, asks the system.
    const bool begins = !outbox_.begun(chunk->sequence);
    const bool drained = (begins || stalled_) && tcp().drained();
    if (begins) tcp().keep_pace(outbox_.pace_bytes_per_s(chunk->sequence));
    if (!put(*chunk, now)) {
      stalled_ = true;
      return;
    }
    // The socket was full, and the kernel had sent everything by the time it had room again: this
    // thread or ZeroMQ's was late.
    if (chunk->index > 0 && stalled_ && drained) outbox_.limited(chunk->sequence);
    stalled_ = false;
    outbox_.placed(now, !drained);
  }
}

// The emulated link takes every chunk at once and releases it when it is due. It shares fairly, so
// that no pace is kept. A tag is a chunk's sequence and index.
void OutgoingConnection::put_emulated(TimePoint now) {
  while (const auto chunk = outbox_.next()) {
    const bool behind = shared_.shaper.queued(now, *shaper_index_) > 0;
    shared_.shaper.push(now, *shaper_index_, kChunkHeadBytes + chunk->size(),
                        chunk->sequence << 16 | chunk->index);
    ++emulated_;
    outbox_.placed(now, behind);
  }
  for (; !due_.empty(); due_.pop_front()) {
    const Due& due = due_.front();
    const auto chunk = outbox_.chunk(due.sequence, due.index);
    if (!chunk) continue;  // acked on an earlier connection
    const bool drained = stalled_ && tcp().drained();
    if (!put(*chunk, now)) {
      stalled_ = true;
      return;
    }
    // Where the network is slower than the emulated link its socket is full, which does not make
    // this thread late: lateness counts from when there was room.
    if (std::exchange(stalled_, false)) room_ = now;
    const Duration late = now - std::max(due.at, room_);
    const Duration since = now - outbox_.begun(due.sequence).value_or(now);
    if (drained || (late > kLate && late * kLatePart > since)) outbox_.limited(due.sequence);
  }
}

void OutgoingConnection::released(const Shaper::Release& frame) {
  --emulated_;
  due_.push_back({frame.tag >> 16, static_cast<std::uint16_t>(frame.tag & 0xffff), frame.at});
}

void OutgoingConnection::keep_alive(TimePoint now) {
  if (!control_.empty() || now < next_sign()) return;
  if (state_ == State::kGreeting)
    control(shared_.hello);  // the first one may have been lost with a connection that was closing
  else
    control(Heartbeat{});
}

TimePoint OutgoingConnection::next_sign() const {
  if (!control_.empty()) return TimePoint::max();  // the socket is full, and says when it is not
  return last_put_ + shared_.heartbeat;
}

TimePoint OutgoingConnection::deadline() const {
  TimePoint at = dialled_.deadline();
  if (state_ == State::kGreeting || state_ == State::kReady) at = std::min(at, next_sign());
  if (spec_.awaits && blocked_)
    at = std::min(at, TimePoint(std::chrono::steady_clock::now() + retry_));
  return at;
}

bool OutgoingConnection::drained() const {
  if (halt_waits_) return false;
  if (state_ != State::kReady)
    return !halt_ || state_ == State::kClosed ||
           !shared_.peers.misses_halt(spec_.to, spec_.link, std::chrono::steady_clock::now());
  if (halt_) return control_.empty();
  return control_.empty() && due_.empty() && emulated_ == 0 && !outbox_.next();
}

LinkCounters OutgoingConnection::counters() const {
  LinkCounters counters = counters_;
  counters.queued_messages = outbox_.held();
  const TcpPeek::Bytes bytes = tcp().bytes();
  counters.tcp_bytes_sent += bytes.sent;
  counters.tcp_bytes_retransmitted += bytes.retransmitted;
  return counters;
}

void OutgoingConnection::hang_up(int linger_ms) {
  if (!dialled_.is_dialled()) return;
  linger(linger_ms);
  close();
}

}  // namespace kimesh
