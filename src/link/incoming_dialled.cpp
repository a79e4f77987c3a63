// Incoming links whose connection this node opens: it says hello, with where the link is, and the
// sender welcomes it. From then on they are like all others.
#include <algorithm>

#include "handshake.h"
#include "incoming_connections.h"
#include "kimesh/util/check.h"

namespace kimesh {

bool IncomingConnections::dials(LinkIndex link) const {
  return std::ranges::any_of(connections_, [&](const Connection& connection) {
    return connection.spec.link == link && connection.dialled;
  });
}

void IncomingConnections::dial(LinkIndex link, const std::string& endpoint) {
  Connection& connection = connection_on(link);
  KIMESH_CHECK(connection.dialled && !connection.dialled->is_dialled(), "a link is dialled once");
  (void)connection.dialled->dial(endpoint);
}

void IncomingConnections::poll(std::vector<zmq_pollitem_t>& items, short reading) const {
  for (const Connection& connection : connections_) {
    if (!connection.dialled || !connection.dialled->socket()) continue;
    const int writing = connection.open && !connection.replies.empty() ? ZMQ_POLLOUT : 0;
    items.push_back({connection.dialled->monitor(), 0, ZMQ_POLLIN, 0});
    items.push_back({connection.dialled->socket(), 0, static_cast<short>(reading | writing), 0});
  }
}

void IncomingConnections::read_monitor_of(Connection& connection) {
  while (const auto change = connection.dialled->next_change()) {
    if (connection.open || connection.greeting) leave(connection);
    if (*change == DialledSocket::Change::kDown) {
      connection.dialled->drop_tcp();
      continue;
    }
    ++connection.number;
    connection.greeting = true;
    say_hello(connection, std::chrono::steady_clock::now());
  }
}

void IncomingConnections::say_hello(Connection& connection, TimePoint now) {
  Hello hello = shared_.hello;
  hello.to = connection.spec.name;
  hello.connection = connection.number;
  hello.from_receiver = true;
  hello.sender = connection.incarnation;
  hello.delivered = connection.inbox.delivered();
  hello.held = connection.inbox.held();
  (void)connection.dialled->send({encode_frame(hello)});  // it is repeated until the welcome
  connection.last_put = now;
}

void IncomingConnections::receive_from(Connection& connection, std::size_t frames) {
  for (; frames > 0 && connection.dialled->socket() && shared_.events.drain(); --frames) {
    ZmqPart part;
    if (!connection.dialled->receive(part)) return;
    const TimePoint now = std::chrono::steady_clock::now();
    if (part.more()) return malformed(&connection, -1, "a frame of several parts");
    answer_from(connection, part.bytes(), now);
  }
}

void IncomingConnections::answer_from(Connection& connection, std::span<const std::byte> bytes,
                                      TimePoint now) {
  const auto frame = decode_frame(bytes);
  if (!frame.ok()) return malformed(&connection, -1, frame.error().message);
  if (const auto* refuse = std::get_if<Refuse>(&*frame))
    return give_up(connection, without_controls(refuse->sentence));
  if (!belongs_to(bytes, tag_)) {
    ++foreign_frames_;
    return shared_.events.push_once({sentence_foreign(connection.spec.name)},
                                    EventGate::peer(connection.spec.from));
  }
  if (const auto* welcome = std::get_if<Welcome>(&*frame))
    return welcomed(connection, *welcome, now);
  if (connection.open) handle(connection, *frame, now);  // else it is of an earlier connection
}

void IncomingConnections::welcomed(Connection& connection, const Welcome& welcome, TimePoint now) {
  if (!connection.greeting || welcome.connection != connection.number) return;
  const auto identity = shared_.peers.identify(connection.spec.from, welcome.incarnation, now);
  if (identity != Peers::Identity::kSame && identity != Peers::Identity::kReplaced) {
    const std::string sentence = sentence_restarted(connection.spec.name);
    if (dials_again(connection, sentence)) return;
    connection.dialled->close();
    leave(connection);
    return shared_.events.push(PeerRestarted{connection.spec.from, sentence});
  }
  if (connection.incarnation !=
      welcome.incarnation)  // its first chunk is that of its first message
    connection.inbox = Inbox(connection.spec.message_bytes_max, shared_.curve != nullptr);
  connection.incarnation = welcome.incarnation;
  connection.greeting = false;
  connection.open = true;
  connection.tcp = TcpPeek(connection.dialled->tcp().fd());
  connection.inbox.restart();
  opened(connection, now);
}

void IncomingConnections::keep_dialled(Connection& connection, TimePoint now) {
  if (connection.dialled->floods(now))
    return give_up(connection, sentence_flood(connection.spec.name));
  connection.dialled->redial(now);
  if (connection.greeting && now >= connection.last_put + shared_.heartbeat)
    say_hello(connection, now);
}

// True: the far node is ending an earlier run, and is dialled until its next process is there.
bool IncomingConnections::dials_again(Connection& connection, const std::string& sentence) {
  if (!shared_.peers.may_come_again(connection.spec.from)) return false;
  const NodeIndex node = connection.spec.from;
  shared_.events.push_once({sentence, node, true}, EventGate::peer(node));
  leave(connection);
  connection.dialled->hang_up();
  return true;
}

// For good: whom this node has dialled is at the topology's address.
void IncomingConnections::give_up(Connection& connection, const std::string& sentence) {
  if (dials_again(connection, sentence)) return;
  connection.dialled->close();
  leave(connection);
  shared_.events.push(LinkRefused{connection.spec.link, sentence});
}

void IncomingConnections::hang_up(int linger_ms) {
  for (Connection& connection : connections_) {
    if (!connection.dialled || !connection.dialled->is_dialled()) continue;
    connection.dialled->linger(linger_ms);
    connection.dialled->close();
    leave(connection);
  }
}

void IncomingConnections::linger(int ms) {
  socket_.set(ZMQ_LINGER, ms);
  for (Connection& connection : connections_)
    if (connection.dialled) connection.dialled->linger(ms);
}

}  // namespace kimesh
