#include "incoming_connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "handshake.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

// Frames of each connection: 4 MB at the largest chunk that kimesh sends, 64 MB at the largest
// frame that ZeroMQ accepts.
constexpr int kReceiveQueueFrames = 64;
// Answers that wait for a peer; ZeroMQ holds 1000 more. A peer that reads none of so many is
// refused.
constexpr std::size_t kRepliesMax = 4096;
constexpr Duration kRetryReplies =
    std::chrono::milliseconds(5);  // a ROUTER does not say which peer has room
// A peer of a busy machine reads its refusal in less; a stranger may never hang up.
constexpr Duration kHearRefusal = std::chrono::seconds(5);

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
    : shared_(std::move(shared)), socket_(shared_.zmq, ZMQ_ROUTER) {
  socket_.set(ZMQ_RCVHWM, kReceiveQueueFrames);
  if (shared_.curve) {
    zap_.emplace(shared_.zmq, shared_.curve->allowed);
    socket_.serve_curve(shared_.curve->own, kZapDomain);
  }
  for (const IncomingLink& link : links)
    connections_.push_back(
        Connection{.spec = link,
                   .inbox = Inbox(link.message_bytes_max, shared_.curve != nullptr),
                   .routing_id = {}});
}

Status IncomingConnections::listen(const std::string& endpoint) {
  const int why = socket_.bind(endpoint);
  if (why == 0) return ok_status();
  return Error{ErrorCode::kNetwork, fmt::format("node {} cannot listen on {}: {}",
                                                shared_.hello.from, endpoint, why_not_bound(why))};
}

IncomingConnections::Connection* IncomingConnections::connection_of(const std::string& routing_id) {
  const auto at = std::ranges::find(connections_, routing_id, &Connection::routing_id);
  return at == connections_.end() ? nullptr : &*at;
}
IncomingConnections::Connection* IncomingConnections::connection_named(const std::string& name) {
  const auto at =
      std::ranges::find_if(connections_, [&](const Connection& l) { return l.spec.name == name; });
  return at == connections_.end() ? nullptr : &*at;
}

void IncomingConnections::send_applied(LinkIndex link, const Applied& applied) {
  const auto at =
      std::ranges::find_if(connections_, [&](const Connection& l) { return l.spec.link == link; });
  KIMESH_CHECK(at != connections_.end(), "applied goes back on an incoming link");
  at->applied[{applied.shard, applied.phase}] = applied;
  reply(*at, applied, std::chrono::steady_clock::now());
}

void IncomingConnections::send_halt(const Halt& halt) {
  halt_ = halt;
  for (Connection& connection : connections_)
    reply(connection, halt, std::chrono::steady_clock::now());
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
    if (event->event == ZMQ_EVENT_ACCEPTED) accepted_.insert(event->value);
    if (event->event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && shared_.curve)
      shared_.events.push_once({sentence_not_encrypted(shared_.hello.from)});
    if (event->event != ZMQ_EVENT_DISCONNECTED) continue;
    accepted_.erase(event->value);
    refused_.erase(event->value);
    // Frames that the connection has brought are still in the queue, and still count.
    for (Connection& connection : connections_)
      if (connection.open && connection.fd == event->value) leave(connection);
  }
}

// The first one alone is told of: who scans ports comes from many addresses.
void IncomingConnections::tell_of_stranger(const std::string& address) {
  if (std::exchange(told_of_stranger_, true)) return;
  shared_.events.push_once({sentence_unknown_key(address, shared_.hello.from)});
}

void IncomingConnections::leave(Connection& connection) {
  connection.open = false;
  connection.tcp = TcpPeek();
  connection.replies.clear();  // each is repeated, or asked for, on the next connection
  shared_.peers.incoming(connection.spec.from, false);
}

void IncomingConnections::receive(std::size_t frames) {
  for (; frames > 0 && shared_.events.drain(); --frames) {
    ZmqPart id, body;
    if (!socket_.receive(id)) return;
    const TimePoint now = std::chrono::steady_clock::now();
    const auto bytes = id.bytes();
    const std::string routing_id(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!id.more() || !socket_.receive(body)) continue;
    bool more = body.more();
    if (!more) {
      frame_from(routing_id, body, now);
      continue;
    }
    while (more) {
      ZmqPart rest;
      more = socket_.receive(rest) && rest.more();
    }
    malformed(connection_of(routing_id), routing_id, "a frame of several parts");
  }
}

void IncomingConnections::frame_from(const std::string& routing_id, const ZmqPart& body,
                                     TimePoint now) {
  Connection* connection = connection_of(routing_id);
  // A peer chooses its routing id: one that an ended connection had makes it no other node.
  if (shared_.curve && connection && body.user_id() != connection->spec.name) connection = nullptr;
  const auto frame = decode_frame(body.bytes());
  if (!frame.ok()) return malformed(connection, routing_id, frame.error().message);
  if (const auto* hello = std::get_if<Hello>(&*frame)) {
    if (shared_.curve && hello->from != body.user_id())
      return refuse_name(routing_id, std::string(body.user_id()), hello->from);
    const int fd = body.source_fd();
    read_monitor();  // an older connection with the same fd ended before this hello
    return hello_from(routing_id, fd, *hello, now);
  }
  if (!connection) return;
  handle(*connection, *frame, now);
}

// A node of this mesh, known by its key, that says the name of another one.
void IncomingConnections::refuse_name(const std::string& routing_id, const std::string& node,
                                      const std::string& from) {
  const std::string sentence = sentence_stolen_name(node, from, shared_.hello.from);
  refuse(routing_id, -1, sentence);
  shared_.events.push_once({sentence});
}

void IncomingConnections::hello_from(const std::string& routing_id, int fd, const Hello& hello,
                                     TimePoint now) {
  const auto turn_away = [&](const std::string& sentence, std::optional<NodeIndex> node = {}) {
    refuse(routing_id, fd, sentence);
    shared_.events.push_once(PeerRefused{sentence, node});
  };
  Connection* connection = connection_named(hello.from);
  if (const auto refusal = refusal_of(hello, shared_.hello)) {
    const bool both = refusal->mutual && connection;
    return turn_away(refusal->sentence, both ? std::optional(connection->spec.from) : std::nullopt);
  }
  if (!connection) return turn_away(sentence_stranger(hello.from, shared_.hello.from));
  switch (shared_.peers.identify(connection->spec.from, hello.incarnation, now)) {
    case Peers::Identity::kSame:
      return admit(*connection, routing_id, fd, now);
    case Peers::Identity::kSecond:
      return turn_away(sentence_second(hello.from, shared_.hello.from));
    case Peers::Identity::kRestarted:
      refuse(routing_id, fd, sentence_restarted(hello.from));
      shared_.events.push(PeerRestarted{connection->spec.from, sentence_restarted(hello.from)});
  }
}

void IncomingConnections::admit(Connection& connection, const std::string& routing_id, int fd,
                                TimePoint now) {
  const bool again =
      connection.open && connection.routing_id == routing_id;  // it repeats its hello
  if (!again) {
    connection.tcp = TcpPeek(fd);
    connection.inbox.restart();
    connection.replies.clear();
  }
  connection.routing_id = routing_id;
  connection.fd = fd;
  connection.open = true;
  shared_.peers.incoming(connection.spec.from, true);
  reply(connection, Welcome{shared_.hello.from, shared_.hello.incarnation}, now);
  if (again) return;
  for (const auto& [channel, applied] : connection.applied) reply(connection, applied, now);
  if (halt_) reply(connection, *halt_, now);
  if (bye_) reply(connection, Bye{shared_.hello.from}, now);
  shared_.events.push(PeerArrived{connection.spec.from});
  heard(connection, now);
}

void IncomingConnections::handle(Connection& connection, const Frame& frame, TimePoint now) {
  std::visit(Overloaded{[](const Hello&) {},  // frame_from has answered it
                        [&](const Chunk& part) {
                          chunk(connection, part, now);
                          heard(connection, now);
                        },
                        [&](const Heartbeat&) { heard(connection, now); },
                        [&](const Halt& halt) {
                          shared_.events.push(halted_by(connection.spec.from, halt));
                          heard(connection, now);
                        },
                        [&](const Bye&) {
                          shared_.events.push(PeerBye{connection.spec.from});
                          heard(connection, now);
                        },
                        [&](const OneOf<Welcome, Refuse, Ack, Applied> auto&) {
                          malformed(&connection, connection.routing_id,
                                    "a frame that only a receiver says");
                        }},
             frame);
}

// The connection's node lives.
void IncomingConnections::heard(const Connection& connection, TimePoint now) {
  if (shared_.peers.heard(connection.spec.from, now))
    shared_.events.try_push(PeerHeard{connection.spec.from});
}

void IncomingConnections::chunk(Connection& connection, const Chunk& chunk, TimePoint now) {
  auto arrival = connection.inbox.add(chunk, now, connection.tcp.received());
  if (!arrival.ok()) return malformed(&connection, connection.routing_id, arrival.error().message);
  if (arrival->ack) reply(connection, *arrival->ack, now);
  if (!arrival->message) return;
  auto message = decode_message(std::move(*arrival->message));
  if (!message.ok()) return malformed(&connection, connection.routing_id, message.error().message);
  shared_.events.push(MessageArrived{connection.spec.link, std::move(*message)});
}

void IncomingConnections::malformed(Connection* connection, const std::string& routing_id,
                                    const std::string& what) {
  const std::string who =
      connection ? "node " + connection->spec.name : "somebody who has not said hello";
  const std::string sentence = sentence_malformed(who, what);
  refuse(routing_id, connection ? connection->fd : -1, sentence);
  shared_.events.push_once(PeerRefused{sentence});
  if (!connection) return;
  leave(*connection);
  connection->routing_id.clear();  // its further frames are dropped
}

// A peer that has gone, or has no room for the sentence, does not get it.
void IncomingConnections::refuse(const std::string& routing_id, int fd,
                                 const std::string& sentence) {
  const SendOutcome outcome = socket_.send({encode_frame(Refuse{sentence})}, routing_id);
  if (outcome == SendOutcome::kSent && accepted_.contains(fd))
    refused_[fd] = std::chrono::steady_clock::now() + kHearRefusal;
}

void IncomingConnections::reply(Connection& connection, const Frame& frame, TimePoint now) {
  if (!connection.open) return;
  connection.replies.push_back(encode_frame(frame));
  put_replies(connection, now);
}

void IncomingConnections::put_replies(Connection& connection, TimePoint now) {
  while (connection.open && !connection.replies.empty()) {
    const SendOutcome outcome = socket_.send({connection.replies.front()}, connection.routing_id);
    if (outcome == SendOutcome::kUnreachable) return leave(connection);
    if (outcome == SendOutcome::kFull) break;
    connection.replies.pop_front();
    connection.last_put = now;
  }
  if (connection.replies.size() > kRepliesMax)
    malformed(&connection, connection.routing_id, "nothing: it reads no answers");
}

void IncomingConnections::pump(TimePoint now) {
  std::erase_if(refused_, [&](const auto& peer) { return now >= peer.second; });
  for (Connection& connection : connections_) {
    if (!connection.replies.empty()) put_replies(connection, now);
    if (connection.open && connection.replies.empty() &&
        now >= connection.last_put + shared_.heartbeat)
      reply(connection, Heartbeat{}, now);
  }
}

TimePoint IncomingConnections::deadline() const {
  TimePoint deadline = TimePoint::max();
  for (const auto& [fd, until] : refused_) deadline = std::min(deadline, until);
  for (const Connection& connection : connections_) {
    if (!connection.open) continue;
    deadline = std::min(deadline, connection.last_put + shared_.heartbeat);
    if (!connection.replies.empty())
      deadline = std::min<TimePoint>(deadline, std::chrono::steady_clock::now() + kRetryReplies);
  }
  return deadline;
}

bool IncomingConnections::all_left() const {
  return refused_.empty() && std::ranges::none_of(connections_, &Connection::open);
}

bool IncomingConnections::drained() const {
  return std::ranges::all_of(connections_,
                             [](const Connection& l) { return !l.open || l.replies.empty(); });
}

}  // namespace kimesh
