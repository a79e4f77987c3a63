// One outgoing link: the handshake, its messages, and the chunks that are on their way. Its
// connection is a DEALER that this node dials, or one that the far node has opened to our ROUTER.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "dialled_socket.h"
#include "event_gate.h"
#include "fd.h"
#include "kimesh/emulation/shaper.h"
#include "kimesh/link/network.h"
#include "outbox.h"
#include "peers.h"
#include "zmq_socket.h"

namespace kimesh {

class AcceptedConnections;

// Thread: the network's. The references outlive it.
class OutgoingConnection {
 public:
  struct Shared {
    ZmqContext& zmq;
    EventGate& events;
    Peers& peers;
    Shaper& shaper;
    Hello hello;  // `to` and `connection` are ours to fill in
    Duration heartbeat;
    const CurveKeys* curve;  // null: connections are not encrypted
    NameLookup::Shared names;
  };
  // `shaper_index` is the link's index in the shaper; nothing: the link is not emulated, and frames
  // go to the socket directly.
  OutgoingConnection(OutgoingLink spec, Shared shared, std::optional<std::size_t> shaper_index);

  void dial(const std::string& endpoint);

  // Where the far node opens the connection (OutgoingLink::awaits): how it stands.
  struct Accepted {
    ZmqSocket* router = nullptr;
    AcceptedConnections* all = nullptr;  // of the router; null where `router` is
    std::string routing_id;
    int fd = -1;
  };
  // Takes a connection with a good hello, in the place of an earlier one. False: the hello is of a
  // connection that has ended.
  bool accept(const Hello& hello, Accepted accepted, TimePoint now);
  [[nodiscard]] const Accepted& accepted() const { return accepted_; }
  [[nodiscard]] const OutgoingLink& spec() const { return spec_; }
  [[nodiscard]] bool is_ready() const { return state_ == State::kReady; }
  // Whether frames of this accepted connection count: it is the link's, or was the last one. What
  // it brought may be read after its end.
  [[nodiscard]] bool hears(const std::string& routing_id) const;
  void lost();  // the accepted connection has ended
  // What came over the accepted connection: a frame, or what none is.
  void arrived(std::span<const std::byte> frame, TimePoint now);
  void misbehaved(const std::string& what);

  void send(SendMessage action);
  void send_halt(const Halt& halt);  // now, and after every reconnect; data is not sent any more
  void send_bye();
  void cut();

  void read_monitor();
  // Reads at most `frames` frames, and stops where the engine has no room for their events.
  void receive(std::size_t frames, TimePoint now);
  // Takes a frame that has left the emulated link, for the next pump(). It sends nothing itself: a
  // connection that is lost by sending one frame would leave the other frames of the pass behind.
  void released(const Shaper::Release& frame);
  // Sends the frames for which there is room, and heartbeats that are due.
  void pump(TimePoint now);

  [[nodiscard]] void* socket() const { return dialled_.socket(); }  // null: not dialled, or refused
  [[nodiscard]] void* monitor() const { return dialled_.monitor(); }
  [[nodiscard]] bool wants_room() const { return blocked_; }
  // Whether its far node, which opens the connection, is still there.
  [[nodiscard]] bool is_awaited() const { return spec_.awaits && state_ == State::kReady; }
  [[nodiscard]] TimePoint deadline() const;
  [[nodiscard]] bool drained() const;  // nothing is left to put on the socket of a ready link
  [[nodiscard]] LinkCounters counters() const;
  void linger(int ms) { dialled_.linger(ms); }
  // Closes the connection for good; the socket has `linger_ms` to send what it holds.
  void hang_up(int linger_ms);

 private:
  // kGreeting: connected, the hello is sent. kClosed: for good.
  enum class State { kIdle, kDialling, kGreeting, kReady, kClosed };
  struct Due {
    std::uint64_t sequence;
    std::uint16_t index;
    TimePoint at;
  };

  void connected();
  void count_tcp();  // of the connection that ends
  void ready(std::uint64_t delivered, std::uint16_t held, TimePoint now);
  void close();
  void handle(const Frame& frame, TimePoint now);
  void heard(TimePoint now);
  void welcome(const Welcome& welcome, TimePoint now);
  void acked(const Ack& ack, TimePoint now);
  void refuse(std::string sentence);
  // The far node is ending an earlier run: it is dialled until its next process is there.
  void dial_again(const std::string& sentence);
  void control_halt();
  void control(const Frame& frame) { control_.push_back(encode_frame(frame, tag_)); }
  [[nodiscard]] bool put(std::initializer_list<std::span<const std::byte>> parts, TimePoint now);
  [[nodiscard]] bool put(const Chunk& chunk, TimePoint now);
  [[nodiscard]] bool put_control(TimePoint now);
  void put_direct(TimePoint now);
  void put_emulated(TimePoint now);
  void keep_alive(TimePoint now);
  [[nodiscard]] SendOutcome send(std::initializer_list<std::span<const std::byte>> parts);
  [[nodiscard]] TcpPeek& tcp() { return spec_.awaits ? accepted_tcp_ : dialled_.tcp(); }
  [[nodiscard]] const TcpPeek& tcp() const { return spec_.awaits ? accepted_tcp_ : dialled_.tcp(); }
  [[nodiscard]] TimePoint next_sign() const;

  OutgoingLink spec_;
  Shared shared_;
  RunTag tag_;
  std::optional<std::size_t> shaper_index_;
  DialledSocket dialled_;
  Accepted accepted_;
  std::optional<std::string> ended_id_;  // routing id of the accepted connection that has ended
  TcpPeek accepted_tcp_;
  std::uint64_t accepted_process_ =
      0;  // Hello::incarnation and connection of the latest good hello
  std::uint32_t accepted_number_ = 0;
  Duration retry_{0};         // until a full accepted connection is tried again
  bool unreachable_ = false;  // the accepted connection has ended, though nobody has said so yet
  State state_ = State::kIdle;
  Outbox outbox_;
  std::deque<std::vector<std::byte>> control_;  // sent before any chunk; never through the shaper
  std::deque<Due> due_;                         // left the emulated link, wait for the socket
  std::optional<Halt> halt_;
  bool halt_waits_ = false;  // the connection was cut for the halt, which the next one sends
  bool bye_ = false;
  bool blocked_ = false;  // the socket was full: wait for room
  bool stalled_ = false;  // it was full since the last chunk
  TimePoint room_{};      // when a full socket had room again
  bool was_ready_ = false;
  std::size_t emulated_ = 0;  // frames that the shaper holds, queued or on their way
  TimePoint last_put_{};
  LinkCounters counters_;
};

}  // namespace kimesh
