// Who has connected to the ROUTER: hellos, and the link that each connection then serves.
#include <algorithm>
#include <utility>

#include "handshake.h"
#include "incoming_connections.h"

namespace kimesh {

OutgoingConnection* IncomingConnections::awaiting_of(const std::string& routing_id) {
  const auto at = std::ranges::find_if(
      awaiting_, [&](const OutgoingConnection* link) { return link->hears(routing_id); });
  return at == awaiting_.end() ? nullptr : *at;
}

void IncomingConnections::frame_from(const std::string& routing_id, int fd, const ZmqPart& body,
                                     TimePoint now) {
  Connection* connection = connection_of(routing_id);
  OutgoingConnection* receiver = awaiting_of(routing_id);
  // A peer chooses its routing id: one that an ended connection had makes it no other node.
  if (shared_.curve && connection && body.user_id() != connection->spec.name) connection = nullptr;
  if (shared_.curve && receiver && body.user_id() != receiver->spec().name) receiver = nullptr;
  const auto frame = decode_frame(body.bytes());
  const Hello* hello = frame.ok() ? std::get_if<Hello>(&*frame) : nullptr;
  if (receiver && !hello) {
    const bool was_ready = receiver->is_ready();  // else the connection has ended
    receiver->arrived(body.bytes(), now);
    if (was_ready) end_if_misbehaved(*receiver, fd, now);
    return;
  }
  if (!frame.ok()) return malformed(connection, fd, frame.error().message);
  if (hello) {
    if (shared_.curve && hello->from != body.user_id())
      return refuse_name(routing_id, fd, {std::string(body.user_id()), hello->from}, now);
    read_monitor();  // an older connection with the same fd ended before this hello
    return hello_from(routing_id, fd, *hello, now);
  }
  if (!connection) return;
  if (!belongs_to(body.bytes(), tag_)) {
    ++foreign_frames_;
    return shared_.events.push_once({sentence_foreign(connection->spec.name)},
                                    EventGate::peer(connection->spec.from));
  }
  handle(*connection, *frame, now);
}

// A node of this mesh, known by its key, that says the name of another one.
void IncomingConnections::refuse_name(const std::string& routing_id, int fd, const StolenName& name,
                                      TimePoint now) {
  const std::string sentence = sentence_stolen_name(name.node, name.said, shared_.hello.from);
  refuse(routing_id, fd, sentence, now);
  shared_.events.push_once({sentence}, {});
}

void IncomingConnections::hello_from(const std::string& routing_id, int fd, const Hello& hello,
                                     TimePoint now) {
  const bool is_proven = shared_.curve != nullptr;
  const auto turn_away = [&](const std::string& sentence, const std::string& told,
                             EventGate::Source source, std::optional<NodeIndex> node = {}) {
    refuse(routing_id, fd, told, now);
    shared_.events.push_once({sentence, node, node && is_proven}, source);
  };
  Connection* sender = hello.from_receiver ? nullptr : connection_named(hello.from);
  const auto at = std::ranges::find(
      awaiting_, hello.from, [](const OutgoingConnection* link) { return link->spec().name; });
  OutgoingConnection* receiver = hello.from_receiver && at != awaiting_.end() ? *at : nullptr;
  const auto refusal = refusal_of(hello, shared_.hello);
  if (!sender && !receiver) {
    const std::string sentence =
        refusal ? refusal->sentence : sentence_stranger(hello.from, shared_.hello.from);
    return turn_away(sentence, sentence_unknown(hello.from), {});
  }
  const NodeIndex node = sender ? sender->spec.from : receiver->spec().to;
  const EventGate::Source source{is_proven ? EventGate::Cause::kPeer : EventGate::Cause::kClaim,
                                 node};
  if (refusal)
    return turn_away(refusal->sentence, refusal->told, source,
                     refusal->mutual ? std::optional(node) : std::nullopt);
  switch (shared_.peers.identify(node, hello.incarnation, now)) {
    case Peers::Identity::kSame:
    case Peers::Identity::kReplaced:
      return sender ? take_sender(*sender, routing_id, fd, hello, now)
                    : take_receiver(*receiver, routing_id, fd, hello, now);
    case Peers::Identity::kSecond: {
      const std::string sentence = sentence_second(hello.from, shared_.hello.from);
      return turn_away(sentence, sentence, source);
    }
    case Peers::Identity::kRestarted: {
      const std::string sentence = sentence_restarted(hello.from);
      if (!shared_.curve)
        return turn_away(sentence_claims_restart(hello.from, shared_.hello.from), sentence, source);
      refuse(routing_id, fd, sentence, now);
      shared_.events.push(PeerRestarted{node, sentence});
    }
  }
}

void IncomingConnections::take_sender(Connection& connection, const std::string& routing_id, int fd,
                                      const Hello& hello, TimePoint now) {
  if (connection.incarnation != hello.incarnation) {
    connection.incarnation = hello.incarnation;
    connection.inbox = Inbox(connection.spec.message_bytes_max, shared_.curve != nullptr);
    connection.number = 0;
  }
  if (hello.connection < connection.number) return;  // of a connection that has ended
  connection.number = hello.connection;
  admit(connection, routing_id, fd, now);
}

void IncomingConnections::take_receiver(OutgoingConnection& link, const std::string& routing_id,
                                        int fd, const Hello& hello, TimePoint now) {
  const int before = link.is_ready() ? link.accepted().fd : -1;
  if (!link.accept(hello, {&socket_, &accepted_, routing_id, fd}, now)) return;
  if (before >= 0 && before != fd) accepted_.release(before, now);
  if (before != fd) accepted_.admit(fd);
  end_if_misbehaved(link, fd, now);
}

// A receiver that broke the protocol has been told so, and has left the link.
void IncomingConnections::end_if_misbehaved(const OutgoingConnection& link, int fd, TimePoint now) {
  if (!link.is_ready()) accepted_.refuse(fd, now);
}

void IncomingConnections::admit(Connection& connection, const std::string& routing_id, int fd,
                                TimePoint now) {
  const bool again =
      connection.open && connection.routing_id == routing_id;  // it repeats its hello
  if (!again) {
    if (connection.open && connection.fd != fd) accepted_.release(connection.fd, now);
    accepted_.admit(fd);
    connection.tcp = TcpPeek(fd);
    connection.replies.clear();
  }
  connection.routing_id = routing_id;
  connection.fd = fd;
  connection.open = true;
  if (!again) connection.inbox.restart();
  reply(connection,
        Welcome{.from = shared_.hello.from,
                .incarnation = shared_.hello.incarnation,
                .connection = connection.number,
                .delivered = connection.inbox.delivered(),
                .held = connection.inbox.held()},
        now);
  if (!again) opened(connection, now);
}

// A new connection serves the link: what may have been lost with the last one is said again.
void IncomingConnections::opened(Connection& connection, TimePoint now) {
  connection.chunks = 0;
  for (const auto& [channel, applied] : connection.applied) reply(connection, applied, now);
  if (halt_) reply_halt(connection, now);
  if (bye_) reply(connection, Bye{shared_.hello.from}, now);
  if (!connection.open) return;  // an answer, or the welcome, has found that it has ended
  shared_.peers.incoming(connection.spec.from, true);
  shared_.events.push(PeerArrived{connection.spec.from});
  heard(connection, now);
}

}  // namespace kimesh
