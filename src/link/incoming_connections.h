// The ROUTER with the node behind each of its connections, and all incoming links: the frames that
// come and the answers.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accepted_connections.h"
#include "arriving_bytes.h"
#include "dialled_socket.h"
#include "event_gate.h"
#include "fd.h"
#include "inbox.h"
#include "kimesh/link/network.h"
#include "outgoing_connection.h"
#include "peers.h"
#include "zap.h"
#include "zmq_socket.h"

namespace kimesh {

// Thread: the network's. The references outlive it.
class IncomingConnections {
 public:
  struct Shared {
    ZmqContext& zmq;
    EventGate& events;
    Peers& peers;
    Hello hello;  // ours
    Duration heartbeat;
    const CurveKeys* curve;  // null: connections are not encrypted
    NameLookup::Shared names;
    HandshakeLimit handshakes{};
  };
  IncomingConnections(const std::vector<IncomingLink>& links, Shared shared);

  // Errors: Network (the address is in use or not of this machine), naming it.
  [[nodiscard]] Status listen(const std::string& endpoint);
  // Takes hellos of the far node of `link`, an outgoing one that awaits its connection and outlives
  // this.
  void await(OutgoingConnection& link) { awaiting_.push_back(&link); }
  // Whether the link is an incoming one that this node dials; and dials it.
  [[nodiscard]] bool dials(LinkIndex link) const;
  void dial(LinkIndex link, const std::string& endpoint);
  [[nodiscard]] std::string bound_endpoint() const { return socket_.last_endpoint(); }

  void send_applied(LinkIndex link,
                    const Applied& applied);  // now, and the last again after every reconnect
  void send_halt(const Halt& halt);
  void send_bye();

  void read_monitor();
  // Reads at most `frames` frames of a socket; stops where the engine has no room for events.
  void receive(std::size_t frames);
  // Sends answers that found no room before, and heartbeats that are due.
  void pump(TimePoint now);

  [[nodiscard]] void* socket() const { return socket_.raw(); }
  [[nodiscard]] void* monitor() const { return socket_.monitor(); }
  // Where ZeroMQ asks who may connect; read_monitor() answers. Null: connections are not encrypted.
  [[nodiscard]] void* zap() const { return zap_ ? zap_->socket() : nullptr; }
  // The sockets and monitors of links that this node dials.
  void poll(std::vector<zmq_pollitem_t>& items, short reading) const;
  [[nodiscard]] TimePoint deadline() const;
  // Closes the connections that this node has dialled, which have so long to send what they hold.
  void hang_up(int linger_ms);
  [[nodiscard]] bool drained() const;  // nothing is left to put on the socket of a connected peer
  [[nodiscard]] std::uint64_t strangers_ended() const { return accepted_.strangers_ended(); }
  // Frames of connected peers that named another run or view, and were dropped.
  [[nodiscard]] std::uint64_t foreign_frames() const { return foreign_frames_; }
  // Nobody is connected, and who was refused has hung up, or has had the time to.
  [[nodiscard]] bool all_left() const;
  // Breaks each connection of a link behind so many chunks, as a network would. 0: none.
  void cut_after(LinkIndex link, unsigned chunks);
  void linger(int ms);

 private:
  struct Connection {
    IncomingLink spec;
    Inbox inbox;
    std::unique_ptr<DialledSocket> dialled{};  // null: the far node dials
    std::uint64_t incarnation = 0;             // of the latest good hello, and Hello::connection
    std::uint32_t number = 0;                  // where this node dials, of its own hello
    bool greeting = false;                     // that was said, and not answered yet
    std::string routing_id;  // of the connection with the latest good hello; empty: none
    int fd = -1;             // of that connection
    TcpPeek tcp{};           // while it stands
    ArrivingBytes arriving{};
    bool open = false;                             // not known to be lost
    unsigned cut_after = 0, chunks = 0;            // cut_after(); chunks of this connection
    std::deque<std::vector<std::byte>> replies{};  // that found no room in the socket
    std::map<std::pair<ShardIndex, Phase>, Applied> applied{};  // last by (shard, phase)
    TimePoint last_put{};
  };

  void frame_from(const std::string& routing_id, int fd, const ZmqPart& body, TimePoint now);
  void receive_accepted(std::size_t frames);
  void tell_of_stranger(const std::string& address);
  struct StolenName {
    std::string node, said;
  };
  void refuse_name(const std::string& routing_id, int fd, const StolenName& name, TimePoint now);
  void hello_from(const std::string& routing_id, int fd, const Hello& hello, TimePoint now);
  void take_sender(Connection& connection, const std::string& routing_id, int fd,
                   const Hello& hello, TimePoint now);
  void take_receiver(OutgoingConnection& link, const std::string& routing_id, int fd,
                     const Hello& hello, TimePoint now);
  void end_if_misbehaved(const OutgoingConnection& link, int fd, TimePoint now);
  void admit(Connection& connection, const std::string& routing_id, int fd, TimePoint now);
  void opened(Connection& connection, TimePoint now);
  void handle(Connection& connection, const Frame& frame, TimePoint now);
  void heard(Connection& connection, TimePoint now);
  void tell_of_life(const Connection& connection, TimePoint now);
  void look_for_bytes(Connection& connection, TimePoint now);
  void chunk(Connection& connection, const Chunk& chunk, TimePoint now);
  void malformed(Connection* connection, int fd, const std::string& what);
  // Of a connection that this node has dialled (incoming_dialled.cpp).
  void read_monitor_of(Connection& connection);
  void say_hello(Connection& connection, TimePoint now);
  void receive_from(Connection& connection, std::size_t frames);
  void answer_from(Connection& connection, std::span<const std::byte> bytes, TimePoint now);
  void welcomed(Connection& connection, const Welcome& welcome, TimePoint now);
  void keep_dialled(Connection& connection, TimePoint now);
  [[nodiscard]] bool dials_again(Connection& connection, const std::string& sentence);
  void give_up(Connection& connection, const std::string& sentence);
  void end_those_over_limits(TimePoint now);
  void refuse(const std::string& routing_id, int fd, const std::string& sentence, TimePoint now);
  void reply(Connection& connection, const Frame& frame, TimePoint now);
  void reply_halt(Connection& connection, TimePoint now);
  void put_replies(Connection& connection, TimePoint now);
  void leave(Connection& connection);
  [[nodiscard]] bool all_are_here(TimePoint now) const;
  [[nodiscard]] Connection* connection_of(const std::string& routing_id);
  [[nodiscard]] Connection& connection_on(LinkIndex link);
  [[nodiscard]] OutgoingConnection* awaiting_of(const std::string& routing_id);
  [[nodiscard]] Connection* connection_named(const std::string& name);

  Shared shared_;
  RunTag tag_;
  std::uint64_t foreign_frames_ = 0;
  std::optional<ZapAnswerer> zap_;
  ZmqSocket socket_;
  std::vector<Connection> connections_;
  std::vector<OutgoingConnection*> awaiting_;
  AcceptedConnections accepted_;
  std::optional<Halt> halt_;
  bool bye_ = false;
  bool told_of_stranger_ = false;
};

}  // namespace kimesh
