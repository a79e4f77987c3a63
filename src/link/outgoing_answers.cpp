// What the receiver of a link says.
#include <utility>

#include "handshake.h"
#include "kimesh/util/overloaded.h"
#include "outgoing_connection.h"

namespace kimesh {

void OutgoingConnection::receive(std::size_t frames, TimePoint now) {
  for (; frames > 0 && socket() && shared_.events.drain(); --frames) {
    ZmqPart part;
    if (!dialled_.receive(part)) return;
    if (part.more()) return misbehaved("a frame of several parts");
    arrived(part.bytes(), now);
  }
}

void OutgoingConnection::arrived(std::span<const std::byte> bytes, TimePoint now) {
  const auto frame = decode_frame(bytes);
  if (!frame.ok()) return misbehaved(frame.error().message);
  if (std::holds_alternative<Refuse>(*frame) || belongs_to(bytes, tag_)) return handle(*frame, now);
  ++counters_.foreign_frames;
  shared_.events.push_once({sentence_foreign(spec_.name)}, EventGate::peer(spec_.to));
}

// Whom we have dialled is at the topology's address: that ends the link. Who has connected to us
// may be anybody where links are not encrypted: that ends the connection, and it may come again.
void OutgoingConnection::misbehaved(const std::string& what) {
  std::string sentence = sentence_malformed("node " + spec_.name, what);
  if (!spec_.awaits) return refuse(std::move(sentence));
  shared_.events.push_once({sentence}, EventGate::peer(spec_.to));
  (void)send({encode_frame(Refuse{sentence})});
  if (state_ != State::kClosed) lost();
  ended_id_.reset();
}

void OutgoingConnection::handle(const Frame& frame, TimePoint now) {
  // Before the welcome, other frames are leftovers of the previous connection: the far node repeats
  // all of them. One that has connected to us may have said its last words.
  const bool is_handshake =
      std::holds_alternative<Welcome>(frame) || std::holds_alternative<Refuse>(frame);
  if (state_ != State::kReady && !is_handshake && !ended_id_) return;
  if (spec_.awaits && is_handshake) return misbehaved("an answer to no hello");
  std::visit(Overloaded{[&](const Welcome& answer) { welcome(answer, now); },
                        [&](const Refuse& answer) { refuse(without_controls(answer.sentence)); },
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
                          shared_.peers.leaves(spec_.to);
                          heard(now);
                        },
                        [&](const Bye&) {
                          shared_.events.push(PeerBye{spec_.to});
                          shared_.peers.leaves(spec_.to);
                          heard(now);
                        },
                        [&](const OneOf<Hello, Chunk> auto&) {
                          misbehaved("a frame that only a sender says");
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
    if (shared_.peers.may_come_again(spec_.to)) return dial_again(sentence_restarted(spec_.name));
    close();
    return shared_.events.push(PeerRestarted{spec_.to, sentence_restarted(spec_.name)});
  }
  ready(welcome.delivered, welcome.held, now);
}

// The far side has handed on all messages up to `far_delivered`, and holds chunks of the next one.
void OutgoingConnection::ready(std::uint64_t far_delivered, std::uint16_t held, TimePoint now) {
  const auto delivered = outbox_.resume(far_delivered, held);
  if (!delivered.ok()) return misbehaved(delivered.error().message);
  if (far_delivered > 0) shared_.peers.exchanged(spec_.to);
  state_ = State::kReady;
  halt_waits_ = false;
  shared_.peers.outgoing(spec_.to, true);
  if (was_ready_) ++counters_.reconnects;
  was_ready_ = true;
  if (halt_) control_halt();
  if (bye_) control(Bye{shared_.hello.from});
  shared_.events.push(LinkUp{spec_.link});
  for (std::size_t i = 0; i < *delivered; ++i)  // their acks were lost
    shared_.events.push(MessageAcked{spec_.link, std::nullopt});
  heard(now);
}

void OutgoingConnection::acked(const Ack& ack, TimePoint now) {
  auto sample = outbox_.acked(ack, now);
  if (!sample.ok()) return misbehaved(sample.error().message);
  if (!*sample) return;
  shared_.peers.exchanged(spec_.to);
  (*sample)->round_trip = tcp().round_trip();
  shared_.events.push(MessageAcked{spec_.link, **sample});
}

}  // namespace kimesh
