// All incoming links: the ROUTER, the node behind each connection, the frames that come and the
// answers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "event_gate.h"
#include "fd.h"
#include "inbox.h"
#include "kimesh/link/network.h"
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
  };
  IncomingConnections(const std::vector<IncomingLink>& links, Shared shared);

  // Errors: Network (the address is in use or not of this machine), naming it.
  [[nodiscard]] Status listen(const std::string& endpoint);
  [[nodiscard]] std::string bound_endpoint() const { return socket_.last_endpoint(); }

  void send_applied(LinkIndex link,
                    const Applied& applied);  // now, and the last again after every reconnect
  void send_halt(const Halt& halt);
  void send_bye();

  void read_monitor();
  // Reads at most `frames` frames, and stops where the engine has no room for their events.
  void receive(std::size_t frames);
  // Sends answers that found no room before, and heartbeats that are due.
  void pump(TimePoint now);

  [[nodiscard]] void* socket() const { return socket_.raw(); }
  [[nodiscard]] void* monitor() const { return socket_.monitor(); }
  // Where ZeroMQ asks who may connect; read_monitor() answers. Null: connections are not encrypted.
  [[nodiscard]] void* zap() const { return zap_ ? zap_->socket() : nullptr; }
  [[nodiscard]] TimePoint deadline() const;
  [[nodiscard]] bool drained() const;  // nothing is left to put on the socket of a connected peer
  // Nobody is connected, and who was refused has hung up, or has had the time to.
  [[nodiscard]] bool all_left() const;
  void linger(int ms) { socket_.set(ZMQ_LINGER, ms); }

 private:
  struct Connection {
    IncomingLink spec;
    Inbox inbox;
    std::string routing_id;  // of the connection with the latest good hello; empty: none
    int fd = -1;             // of that connection
    TcpPeek tcp{};           // while it stands
    bool open = false;       // not known to be lost
    std::deque<std::vector<std::byte>> replies{};               // that found no room in the socket
    std::map<std::pair<ShardIndex, Phase>, Applied> applied{};  // last by (shard, phase)
    TimePoint last_put{};
  };

  void frame_from(const std::string& routing_id, const ZmqPart& body, TimePoint now);
  void tell_of_stranger(const std::string& address);
  void refuse_name(const std::string& routing_id, const std::string& node, const std::string& from);
  void hello_from(const std::string& routing_id, int fd, const Hello& hello, TimePoint now);
  void admit(Connection& connection, const std::string& routing_id, int fd, TimePoint now);
  void handle(Connection& connection, const Frame& frame, TimePoint now);
  void heard(const Connection& connection, TimePoint now);
  void chunk(Connection& connection, const Chunk& chunk, TimePoint now);
  void malformed(Connection* connection, const std::string& routing_id, const std::string& what);
  void refuse(const std::string& routing_id, int fd, const std::string& sentence);
  void reply(Connection& connection, const Frame& frame, TimePoint now);
  void put_replies(Connection& connection, TimePoint now);
  void leave(Connection& connection);
  [[nodiscard]] Connection* connection_of(const std::string& routing_id);
  [[nodiscard]] Connection* connection_named(const std::string& name);

  Shared shared_;
  std::optional<ZapAnswerer> zap_;
  ZmqSocket socket_;
  std::vector<Connection> connections_;
  std::set<int> accepted_;            // fds of the connections that stand
  std::map<int, TimePoint> refused_;  // by fd: until when they may take to hear it and hang up
  std::optional<Halt> halt_;
  bool bye_ = false;
  bool told_of_stranger_ = false;
};

}  // namespace kimesh
