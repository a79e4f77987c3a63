#include "outgoing_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "handshake.h"
#include "kimesh/util/overloaded.h"
#include "zmtp.h"

namespace kimesh {
namespace {

// Frames, 1 MB at the largest chunk: few enough that a halt does not wait long behind them, and
// enough for 2 GB/s where this thread wakes after half of them.
constexpr int kSendQueueFrames = 16;
constexpr int kUnsentBytes = 128 * 1024;  // in the kernel: measured to cost no throughput

// Between a handshake that ended by a mistake of one side, after which ZeroMQ does not dial again,
// and the next one. The other side may be started again with other keys, or be a stranger's.
constexpr Duration kDialAnew = std::chrono::seconds(1);
constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
// Handshakes in a row that the other side ends without a word before they are told of. A node that
// is just ending breaks one.
constexpr unsigned kHangUpsMax = 3;

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
      shaper_index_(shaper_index) {
  shared_.hello.to = spec_.name;
  if (!spec_.endpoint.empty()) dial(spec_.endpoint);
}

void OutgoingConnection::dial(const std::string& endpoint) {
  KIMESH_CHECK(state_ == State::kIdle, "a link is dialled once");
  socket_ = ZmqSocket(shared_.zmq, ZMQ_DEALER);
  socket_.set(ZMQ_SNDHWM, kSendQueueFrames);
  spec_.endpoint = endpoint;
  if (shared_.curve) {
    const auto far = shared_.curve->allowed.find(spec_.name);
    KIMESH_CHECK(far != shared_.curve->allowed.end(), "the list has the keys of all peers");
    socket_.dial_curve(shared_.curve->own, far->second);
  }
  if (const int why = socket_.connect(endpoint); why != 0) {
    shared_.events.push(NetworkFailed{
        fmt::format("cannot dial node {} at {}: {}", spec_.name, endpoint, zmq_strerror(why))});
    close();
    return;
  }
  state_ = State::kDialling;
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

// A halt behind data in the kernel would wait for all of it. The connection is cut, and the next
// one sends the halt first.
void OutgoingConnection::send_halt(const Halt& halt) {
  halt_ = halt;
  if (state_ != State::kReady) return;
  if (!tcp_ || tcp_.drained()) return control(halt);
  halt_waits_ = true;
  cut();
}

void OutgoingConnection::send_bye() {
  bye_ = true;
  if (state_ == State::kReady) control(Bye{shared_.hello.from});
}

void OutgoingConnection::cut() {
  const TcpPeek::Bytes bytes = tcp_.bytes();
  counters_.tcp_bytes_sent += bytes.sent;
  counters_.tcp_bytes_retransmitted += bytes.retransmitted;
  tcp_.break_connection();
  tcp_ = TcpPeek();
}

void OutgoingConnection::read_monitor() {
  while (socket_) {
    const auto event = socket_.next_monitor_event();
    if (!event) return;
    if (event->event == ZMQ_EVENT_CONNECTED) {
      tcp_ = TcpPeek(event->value);
      tcp_.limit_unsent(kUnsentBytes);
    }
    if (event->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) connected();
    if (event->event == ZMQ_EVENT_DISCONNECTED) lost();
    if (event->event & kHandshakeFailed) handshake_failed(*event);
  }
}

// Nothing here ends the link: what a connection says before its handshake is anybody's word.
void OutgoingConnection::handshake_failed(const ZmqSocket::MonitorEvent& event) {
  const bool is_encrypted = shared_.curve != nullptr;
  const bool without_detail = event.event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (without_detail) {
    const bool hung_up = event.value == EPIPE || event.value == ECONNRESET;  // not: took too long
    if (!hung_up || ++hang_ups_ != kHangUpsMax) return;
  }
  std::string sentence = sentence_no_handshake(spec_.name, spec_.endpoint, is_encrypted);
  if (event.event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
    sentence = sentence_key_denied(spec_.name, spec_.endpoint, shared_.hello.from);
  else if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
    sentence = sentence_other_security(spec_.name, spec_.endpoint, is_encrypted);
  shared_.events.push_once({sentence});
  if (!without_detail) redial_at_ = std::chrono::steady_clock::now() + kDialAnew;
}

void OutgoingConnection::dial_again() {
  redial_at_.reset();
  socket_.close();
  state_ = State::kIdle;
  dial(spec_.endpoint);
}

void OutgoingConnection::connected() {
  counters_.frame_bytes += zmtp_greeting_bytes(shared_.curve != nullptr);
  hang_ups_ = 0;
  redial_at_.reset();
  state_ = State::kGreeting;
  control_.clear();
  ++shared_.hello.connection;
  control(shared_.hello);
}

void OutgoingConnection::lost() {
  const TcpPeek::Bytes bytes = tcp_.bytes();
  counters_.tcp_bytes_sent += bytes.sent;
  counters_.tcp_bytes_retransmitted += bytes.retransmitted;
  tcp_ = TcpPeek();
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
  redial_at_.reset();
  halt_waits_ = false;
  lost();
  socket_.close();
}

void OutgoingConnection::refuse(std::string sentence) {
  close();
  shared_.events.push(LinkRefused{spec_.link, std::move(sentence)});
}

void OutgoingConnection::receive(std::size_t frames, TimePoint now) {
  for (; frames > 0 && socket_ && shared_.events.drain(); --frames) {
    ZmqPart part;
    if (!socket_.receive(part)) return;
    if (part.more()) return refuse(sentence_malformed(spec_.name, "a frame of several parts"));
    const auto frame = decode_frame(part.bytes());
    if (!frame.ok()) return refuse(sentence_malformed(spec_.name, frame.error().message));
    if (!std::holds_alternative<Refuse>(*frame) && tag_of(part.bytes()) != tag_) {
      ++counters_.foreign_frames;
      shared_.events.push_once(PeerRefused{sentence_foreign(spec_.name)});
      continue;
    }
    handle(*frame, now);
  }
}

void OutgoingConnection::handle(const Frame& frame, TimePoint now) {
  // Before the welcome, other frames are leftovers of the previous connection: the far node repeats
  // all of them.
  const bool is_handshake =
      std::holds_alternative<Welcome>(frame) || std::holds_alternative<Refuse>(frame);
  if (state_ != State::kReady && !is_handshake) return;
  std::visit(Overloaded{[&](const Welcome& answer) { welcome(answer, now); },
                        [&](const Refuse& answer) { refuse(printable(answer.sentence)); },
                        [&](const Ack& ack) {
                          acked(ack, now);
                          heard(now);
                        },
                        [&](const Applied& applied) {
                          shared_.events.push(MessageApplied{spec_.link, applied});
                          heard(now);
                        },
                        [&](const OneOf<Heartbeat, Later> auto&) { heard(now); },
                        [&](const Halt& halt) {
                          shared_.events.push(halted_by(spec_.to, halt));
                          heard(now);
                        },
                        [&](const Bye&) {
                          shared_.events.push(PeerBye{spec_.to});
                          heard(now);
                        },
                        [&](const OneOf<Hello, Chunk> auto&) {
                          refuse(sentence_malformed(spec_.name, "a frame that only a sender says"));
                        }},
             frame);
}

// The far node lives.
void OutgoingConnection::heard(TimePoint now) {
  if (shared_.peers.heard(spec_.to, spec_.link, now))
    shared_.events.try_push(PeerHeard{spec_.to, spec_.link});
}

void OutgoingConnection::welcome(const Welcome& welcome, TimePoint now) {
  // A welcome of an earlier connection says what the far side had then.
  if (state_ != State::kGreeting || welcome.connection != shared_.hello.connection) return;
  const auto identity = shared_.peers.identify(spec_.to, welcome.incarnation, now);
  if (identity != Peers::Identity::kSame && identity != Peers::Identity::kReplaced) {
    close();
    shared_.events.push(PeerRestarted{spec_.to, sentence_restarted(spec_.name)});
    return;
  }
  const auto delivered = outbox_.resume(welcome.delivered, welcome.held);
  if (!delivered.ok()) return refuse(sentence_malformed(spec_.name, delivered.error().message));
  if (welcome.delivered > 0) shared_.peers.exchanged(spec_.to);
  state_ = State::kReady;
  halt_waits_ = false;
  shared_.peers.outgoing(spec_.to, true);
  if (was_ready_) ++counters_.reconnects;
  was_ready_ = true;
  if (halt_) control(*halt_);
  if (bye_) control(Bye{shared_.hello.from});
  shared_.events.push(LinkUp{spec_.link});
  for (std::size_t i = 0; i < *delivered; ++i)  // their acks were lost
    shared_.events.push(MessageAcked{spec_.link, std::nullopt});
  heard(now);
}

void OutgoingConnection::acked(const Ack& ack, TimePoint now) {
  auto sample = outbox_.acked(ack, now);
  if (!sample.ok()) return refuse(sentence_malformed(spec_.name, sample.error().message));
  if (!*sample) return;
  shared_.peers.exchanged(spec_.to);
  (*sample)->round_trip = tcp_.round_trip();
  shared_.events.push(MessageAcked{spec_.link, **sample});
}

bool OutgoingConnection::put(std::initializer_list<std::span<const std::byte>> parts,
                             TimePoint now) {
  if (socket_.send(parts) != SendOutcome::kSent) {
    blocked_ = true;
    return false;
  }
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
  if (redial_at_ && now >= *redial_at_) dial_again();
  if (state_ != State::kGreeting && state_ != State::kReady) return;
  keep_alive(now);
  if (!put_control(now) || state_ != State::kReady || halt_) return;
  shaper_index_ ? put_emulated(now) : put_direct(now);
}

void OutgoingConnection::put_direct(TimePoint now) {
  while (const auto chunk = outbox_.next()) {
    const bool drained = tcp_.drained();
    if (chunk->index == 0) tcp_.keep_pace(outbox_.pace_bytes_per_s(chunk->sequence));
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
    const bool behind = shared_.shaper.queued(*shaper_index_) > 0;
    shared_.shaper.push(now, *shaper_index_, kChunkHeadBytes + chunk->size(),
                        chunk->sequence << 16 | chunk->index);
    ++emulated_;
    outbox_.placed(now, behind);
  }
  for (; !due_.empty(); due_.pop_front()) {
    const Due& due = due_.front();
    const auto chunk = outbox_.chunk(due.sequence, due.index);
    if (!chunk) continue;  // acked on an earlier connection
    const bool drained = stalled_ && tcp_.drained();
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

void OutgoingConnection::released(const Shaper::Release& frame, TimePoint now) {
  --emulated_;
  due_.push_back({frame.tag >> 16, static_cast<std::uint16_t>(frame.tag & 0xffff), frame.at});
  pump(now);
}

void OutgoingConnection::keep_alive(TimePoint now) {
  if (!control_.empty() || now < deadline()) return;
  if (state_ == State::kGreeting)
    control(shared_.hello);  // the first one may have been lost with a connection that was closing
  else
    control(Heartbeat{});
}

TimePoint OutgoingConnection::deadline() const {
  if (redial_at_) return *redial_at_;
  if (state_ != State::kGreeting && state_ != State::kReady) return TimePoint::max();
  if (!control_.empty()) return TimePoint::max();  // the socket is full, and says when it is not
  return last_put_ + shared_.heartbeat;
}

bool OutgoingConnection::drained() const {
  if (halt_waits_) return false;
  if (state_ != State::kReady) return true;
  if (halt_) return control_.empty();
  return control_.empty() && due_.empty() && emulated_ == 0 && !outbox_.next();
}

LinkCounters OutgoingConnection::counters() const {
  LinkCounters counters = counters_;
  counters.queued_messages = outbox_.held();
  const TcpPeek::Bytes bytes = tcp_.bytes();
  counters.tcp_bytes_sent += bytes.sent;
  counters.tcp_bytes_retransmitted += bytes.retransmitted;
  return counters;
}

void OutgoingConnection::linger(int ms) {
  if (socket_) socket_.set(ZMQ_LINGER, ms);
}

void OutgoingConnection::hang_up(int linger_ms) {
  if (!socket_) return;
  linger(linger_ms);
  close();
}

}  // namespace kimesh
