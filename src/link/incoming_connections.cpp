#include "incoming_connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "endpoint.h"
#include "handshake.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

// Answers that wait for a peer beside those that ZeroMQ holds. A peer that reads none of so many is
// refused.
constexpr std::size_t kRepliesMax = 4096;
constexpr Duration kRetryReplies =
    std::chrono::milliseconds(5);  // a ROUTER does not say which peer has room

std::string why_not_bound(int why) {
  switch (why) {
    case EADDRINUSE:
      return "the address is already in use; stop the other process or choose another port";
    case EADDRNOTAVAIL:
    case ENODEV:
      return "this machine has no such address";
    case EACCES:
      return "the system forbids that port; choose one over 1023";
    default:
      return zmq_strerror(why);
  }
}

}  // namespace

IncomingConnections::IncomingConnections(const std::vector<IncomingLink>& links, Shared shared)
    : shared_(std::move(shared)),
      tag_(shared_.hello.tag()),
      socket_(shared_.zmq, ZMQ_ROUTER),
      accepted_(shared_.handshakes) {
  if (shared_.curve && socket_) {  // without one, listen() fails
    zap_.emplace(shared_.zmq, shared_.curve->allowed);
    socket_.serve_curve(shared_.curve->own, kZapDomain);
  }
  for (const IncomingLink& link : links) {
    connections_.push_back(
        Connection{.spec = link,
                   .inbox = Inbox(link.message_bytes_max, shared_.curve != nullptr),
                   .routing_id = {}});
    if (!link.dials) continue;
    connections_.back().dialled = std::make_unique<DialledSocket>(
        DialledSocket::Shared{shared_.zmq, shared_.events, shared_.curve, shared_.hello.from,
                              shared_.names},
        DialledSocket::Far{link.from, link.name});
    if (!link.endpoint.empty()) dial(link.link, link.endpoint);
  }
}

Status IncomingConnections::listen(const std::string& endpoint) {
  int why = 0;
  for (const std::string& place : listen_places(endpoint)) {
    why = socket_.bind(place);
    if (why == 0) return ok_status();
  }
  return Error{ErrorCode::kNetwork, fmt::format("node {} cannot listen on {}: {}",
                                                shared_.hello.from, endpoint, why_not_bound(why))};
}

IncomingConnections::Connection* IncomingConnections::connection_of(const std::string& routing_id) {
  const auto at = std::ranges::find(connections_, routing_id, &Connection::routing_id);
  return at == connections_.end() ? nullptr : &*at;
}
IncomingConnections::Connection* IncomingConnections::connection_named(const std::string& name) {
  const auto at = std::ranges::find_if(
      connections_, [&](const Connection& l) { return !l.dialled && l.spec.name == name; });
  return at == connections_.end() ? nullptr : &*at;
}

IncomingConnections::Connection& IncomingConnections::connection_on(LinkIndex link) {
  const auto at =
      std::ranges::find_if(connections_, [&](const Connection& l) { return l.spec.link == link; });
  KIMESH_CHECK(at != connections_.end(), "the link is one of our incoming ones");
  return *at;
}

void IncomingConnections::send_applied(LinkIndex link, const Applied& applied) {
  Connection& connection = connection_on(link);
  connection.applied[{applied.shard, applied.phase}] = applied;
  reply(connection, applied, std::chrono::steady_clock::now());
}

void IncomingConnections::cut_after(LinkIndex link, unsigned chunks) {
  connection_on(link).cut_after = chunks;
}

void IncomingConnections::send_halt(const Halt& halt) {
  halt_ = halt;
  for (Connection& connection : connections_)
    if (connection.open) reply_halt(connection, std::chrono::steady_clock::now());
}

void IncomingConnections::reply_halt(Connection& connection, TimePoint now) {
  reply(connection, *halt_, now);
  if (connection.open) shared_.peers.told_of_halt(connection.spec.from, true);
}

void IncomingConnections::send_bye() {
  bye_ = true;
  for (Connection& connection : connections_)
    reply(connection, Bye{shared_.hello.from}, std::chrono::steady_clock::now());
}

void IncomingConnections::read_monitor() {
  if (const std::string stranger = zap_ ? zap_->answer() : ""; !stranger.empty())
    tell_of_stranger(stranger);
  while (const auto event = socket_.next_monitor_event()) {
    if (event->event == ZMQ_EVENT_LISTENING && shared_.curve)
      accepted_.hold_newcomers(event->value);
    if (event->event == ZMQ_EVENT_ACCEPTED)
      accepted_.accepted(event->value, std::chrono::steady_clock::now());
    if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && shared_.curve)
      shared_.events.push_once({sentence_not_encrypted(shared_.hello.from)}, {});
    if (event->event != ZMQ_EVENT_DISCONNECTED) continue;
    accepted_.disconnected(event->value);
    // Frames that the connection has brought are still in the queue, and still count.
    for (Connection& connection : connections_)
      if (connection.open && connection.fd == event->value) leave(connection);
    for (OutgoingConnection* link : awaiting_)
      if (link->is_ready() && link->accepted().fd == event->value) link->lost();
  }
  for (Connection& connection : connections_)
    if (connection.dialled) read_monitor_of(connection);
}

// The first one alone is told of: who scans ports comes from many addresses.
void IncomingConnections::tell_of_stranger(const std::string& address) {
  if (std::exchange(told_of_stranger_, true)) return;
  shared_.events.push_once({sentence_unknown_key(address, shared_.hello.from)}, {});
}

void IncomingConnections::leave(Connection& connection) {
  if (connection.open) {
    shared_.events.push(PeerLeft{connection.spec.from});
    // A hello that was read after its connection had ended has admitted the one that has the
    // descriptor now, which may be a stranger's.
    accepted_.release(connection.fd, std::chrono::steady_clock::now());
    shared_.peers.told_of_halt(connection.spec.from, false);  // it may not have come through
  }
  connection.open = connection.greeting = false;
  connection.tcp = TcpPeek();
  connection.replies.clear();  // each is repeated, or asked for, on the next connection
  shared_.peers.incoming(connection.spec.from, false);
}

void IncomingConnections::receive(std::size_t frames) {
  receive_accepted(frames);
  for (Connection& connection : connections_)
    if (connection.dialled) receive_from(connection, frames);
}

void IncomingConnections::receive_accepted(std::size_t frames) {
  for (; frames > 0 && shared_.events.drain(); --frames) {
    ZmqPart id, body;
    if (!socket_.receive(id)) return;
    const TimePoint now = std::chrono::steady_clock::now();
    const auto bytes = id.bytes();
    const std::string routing_id(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!id.more() || !socket_.receive(body)) continue;
    const int fd = body.source_fd();
    accepted_.delivered(fd, body.bytes().size());
    bool more = body.more();
    if (!more) {
      frame_from(routing_id, fd, body, now);
      continue;
    }
    while (more) {
      ZmqPart rest;
      more = socket_.receive(rest) && rest.more();
      accepted_.delivered(fd, rest.bytes().size());
    }
    if (OutgoingConnection* link = awaiting_of(routing_id)) {
      const bool was_ready = link->is_ready();
      link->misbehaved("a frame of several parts");
      if (was_ready) end_if_misbehaved(*link, fd, now);
    } else {
      malformed(connection_of(routing_id), fd, "a frame of several parts");
    }
  }
}

void IncomingConnections::handle(Connection& connection, const Frame& frame, TimePoint now) {
  std::visit(Overloaded{[](const Hello&) {},  // frame_from has answered it
                        [&](const Chunk& part) {
                          chunk(connection, part, now);
                          heard(connection, now);
                        },
                        [&](const OneOf<Heartbeat, Later> auto&) { heard(connection, now); },
                        [&](const Halt& halt) {
                          shared_.events.push(halted_by(connection.spec.from, halt));
                          shared_.peers.leaves(connection.spec.from);
                          heard(connection, now);
                        },
                        [&](const Bye&) {
                          shared_.events.push(PeerBye{connection.spec.from});
                          shared_.peers.leaves(connection.spec.from);
                          heard(connection, now);
                        },
                        [&](const OneOf<Welcome, Refuse, Ack, Applied> auto&) {
                          malformed(&connection, connection.fd,
                                    "a frame that only a receiver says");
                        }},
             frame);
}

// A frame of the connection's node has come.
void IncomingConnections::heard(Connection& connection, TimePoint now) {
  connection.arriving.frame(now);
  tell_of_life(connection, now);
}

// The connection's node lives.
void IncomingConnections::tell_of_life(const Connection& connection, TimePoint now) {
  if (shared_.peers.heard(connection.spec.from, connection.spec.link, now))
    shared_.events.try_push(PeerHeard{connection.spec.from, connection.spec.link});
}

// Looks for bytes of a frame that is not complete yet. Only the connection whose hello was accepted
// counts. The descriptor of an accepted connection that has ended may be another one's. Therefore a
// sign takes two looks: between them ZeroMQ refuses a heartbeat on the ended connection, which then
// closes here.
void IncomingConnections::look_for_bytes(Connection& connection, TimePoint now) {
  if (!connection.open || now < connection.arriving.next_look(shared_.heartbeat)) return;
  if (connection.arriving.look(connection.tcp.received(), now)) tell_of_life(connection, now);
}

void IncomingConnections::chunk(Connection& connection, const Chunk& chunk, TimePoint now) {
  const std::uint64_t bytes = Inbox::bounds_tail(chunk) ? connection.tcp.received() : 0;
  auto arrival = connection.inbox.add(chunk, now, bytes);
  if (!arrival.ok()) return malformed(&connection, connection.fd, arrival.error().message);
  if (arrival->ack) reply(connection, *arrival->ack, now);
  if (++connection.chunks == connection.cut_after) connection.tcp.break_connection();
  if (!arrival->message) return;
  auto message = decode_message(std::move(*arrival->message));
  if (!message.ok()) return malformed(&connection, connection.fd, message.error().message);
  shared_.peers.exchanged(connection.spec.from);
  shared_.events.push(MessageArrived{connection.spec.link, std::move(*message)});
}

// A stranger is told nothing, not even what is listening here. It ends when its time is over: what
// is read now may come from an earlier connection with the same descriptor.
void IncomingConnections::malformed(Connection* connection, int fd, const std::string& what) {
  const std::string who =
      connection ? "node " + connection->spec.name : "somebody who has not said hello";
  const std::string sentence = sentence_malformed(who, what);
  if (connection && connection->dialled) return give_up(*connection, sentence);
  const auto source = connection ? EventGate::peer(connection->spec.from) : EventGate::Source();
  shared_.events.push_once({sentence}, source);
  if (!connection) return;
  refuse(connection->routing_id, fd, sentence, std::chrono::steady_clock::now());
  leave(*connection);
  connection->routing_id.clear();  // its further frames are dropped
}

// A peer that has gone, or has no room for the sentence, does not get it, and ends as a stranger.
void IncomingConnections::refuse(const std::string& routing_id, int fd, const std::string& sentence,
                                 TimePoint now) {
  const SendOutcome outcome = socket_.send({encode_frame(Refuse{sentence})}, routing_id);
  if (outcome == SendOutcome::kSent) accepted_.refuse(fd, now);
}

void IncomingConnections::end_those_over_limits(TimePoint now) {
  for (const int fd : accepted_.look(now, shared_.events.drain())) {
    for (const Connection& connection : connections_)
      if (connection.open && connection.fd == fd)
        shared_.events.push_once({sentence_flood(connection.spec.name)},
                                 EventGate::peer(connection.spec.from));
    for (const OutgoingConnection* link : awaiting_)
      if (link->is_ready() && link->accepted().fd == fd)
        shared_.events.push_once({sentence_flood(link->spec().name)},
                                 EventGate::peer(link->spec().to));
  }
}

void IncomingConnections::reply(Connection& connection, const Frame& frame, TimePoint now) {
  if (!connection.open) return;
  connection.replies.push_back(encode_frame(frame, tag_));
  put_replies(connection, now);
}

void IncomingConnections::put_replies(Connection& connection, TimePoint now) {
  while (connection.open && !connection.replies.empty()) {
    const SendOutcome outcome =
        connection.dialled ? connection.dialled->send({connection.replies.front()})
                           : socket_.send({connection.replies.front()}, connection.routing_id);
    if (outcome == SendOutcome::kUnreachable) return leave(connection);
    if (outcome == SendOutcome::kFull) break;
    connection.replies.pop_front();
    connection.last_put = now;
  }
  if (connection.replies.size() > kRepliesMax)
    malformed(&connection, connection.fd, "nothing: it reads no answers");
}

// Whether nobody who dials this node is missing, so that newcomers may wait.
bool IncomingConnections::all_are_here(TimePoint now) const {
  const auto sends = [&](const Connection& connection) {
    return connection.dialled ||
           (connection.open && shared_.peers.heard_lately(connection.spec.link, now));
  };
  const auto receives = [&](const OutgoingConnection* link) {
    return link->is_ready() && shared_.peers.heard_lately(link->spec().link, now);
  };
  return std::ranges::all_of(connections_, sends) && std::ranges::all_of(awaiting_, receives);
}

void IncomingConnections::pump(TimePoint now) {
  end_those_over_limits(now);
  if (accepted_.any_waits()) accepted_.let_in(now, !all_are_here(now));
  for (Connection& connection : connections_) {
    if (connection.dialled) keep_dialled(connection, now);
    if (!connection.replies.empty()) put_replies(connection, now);
    if (connection.open && connection.replies.empty() &&
        now >= connection.last_put + shared_.heartbeat)
      reply(connection, Heartbeat{}, now);
    look_for_bytes(connection, now);
  }
}

TimePoint IncomingConnections::deadline() const {
  TimePoint deadline = accepted_.deadline();
  for (const Connection& connection : connections_) {
    if (connection.dialled) deadline = std::min(deadline, connection.dialled->deadline());
    if (connection.greeting) deadline = std::min(deadline, connection.last_put + shared_.heartbeat);
    if (!connection.open) continue;
    deadline = std::min(deadline, connection.arriving.next_look(shared_.heartbeat));
    const TimePoint next = connection.replies.empty()
                               ? connection.last_put + shared_.heartbeat
                               : std::chrono::steady_clock::now() + kRetryReplies;
    deadline = std::min(deadline, next);
  }
  return deadline;
}

bool IncomingConnections::all_left() const {
  return !accepted_.any_refused() && std::ranges::none_of(connections_, &Connection::open);
}

bool IncomingConnections::drained() const {
  const TimePoint now = std::chrono::steady_clock::now();
  return std::ranges::all_of(connections_, [&](const Connection& l) {
    if (l.open) return l.replies.empty();
    const bool is_given_up = l.dialled && !l.dialled->is_dialled();
    return !halt_ || is_given_up || !shared_.peers.misses_halt(l.spec.from, l.spec.link, now);
  });
}

}  // namespace kimesh
