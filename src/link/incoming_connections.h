// All incoming links: the ROUTER, the node behind each connection, the frames that come and the
// answers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accepted_connections.h"
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
  [[nodiscard]] std::uint64_t strangers_ended() const { return accepted_.strangers_ended(); }
  // Frames of connected peers that named another run or view, and were dropped.
  [[nodiscard]] std::uint64_t foreign_frames() const { return foreign_frames_; }
  // Nobody is connected, and who was refused has hung up, or has had the time to.
  [[nodiscard]] bool all_left() const;
  // Breaks each connection of a link behind so many chunks, as a network would. 0: none.
  void cut_after(LinkIndex link, unsigned chunks);
  void linger(int ms) { socket_.set(ZMQ_LINGER, ms); }

 private:
  struct Connection {
    IncomingLink spec;
    Inbox inbox;
    std::uint64_t incarnation = 0;  // of the latest good hello, and Hello::connection
    std::uint32_t number = 0;
    std::string routing_id;  // of the connection with the latest good hello; empty: none
    int fd = -1;             // of that connection
    TcpPeek tcp{};           // while it stands
    bool open = false;       // not known to be lost
    unsigned cut_after = 0, chunks = 0;            // cut_after(); chunks of this connection
    std::deque<std::vector<std::byte>> replies{};  // that found no room in the socket
    std::map<std::pair<ShardIndex, Phase>, Applied> applied{};  // last by (shard, phase)
    TimePoint last_put{};
  };

  void frame_from(const std::string& routing_id, int fd, const ZmqPart& body, TimePoint now);
  void tell_of_stranger(const std::string& address);
  struct StolenName {
    std::string node, said;
  };
  void refuse_name(const std::string& routing_id, int fd, const StolenName& name, TimePoint now);
  void hello_from(const std::string& routing_id, int fd, const Hello& hello, TimePoint now);
  void admit(Connection& connection, const std::string& routing_id, int fd, TimePoint now);
  void handle(Connection& connection, const Frame& frame, TimePoint now);
  void heard(const Connection& connection, TimePoint now);
  void chunk(Connection& connection, const Chunk& chunk, TimePoint now);
  void malformed(Connection* connection, int fd, const std::string& what);
  void end_those_over_limits(TimePoint now);
  void refuse(const std::string& routing_id, int fd, const std::string& sentence, TimePoint now);
  void reply(Connection& connection, const Frame& frame, TimePoint now);
  void put_replies(Connection& connection, TimePoint now);
  void leave(Connection& connection);
  [[nodiscard]] Connection* connection_of(const std::string& routing_id);
  [[nodiscard]] Connection& connection_on(LinkIndex link);
  [[nodiscard]] Connection* connection_named(const std::string& name);

  Shared shared_;
  RunTag tag_;
  std::uint64_t foreign_frames_ = 0;
  std::optional<ZapAnswerer> zap_;
  ZmqSocket socket_;
  std::vector<Connection> connections_;
  AcceptedConnections accepted_;
  std::optional<Halt> halt_;
  bool bye_ = false;
  bool told_of_stranger_ = false;
};

}  // namespace kimesh
