// The TCP connections that the listening socket has accepted: how long each may stay, and how much
// it may make us hold. ZeroMQ bounds neither: it holds all parts of a message that has not ended,
// whatever its high-water marks say, and none of its stable functions ends a single peer. So the
// descriptors are taken from the monitor, and the connections reset here.
//
// What ZeroMQ holds of incoming bytes is at most
//
//     kStrangersMax kStrangerBytesMax + links kUndeliveredBytesMax + rate · T
//
// with the rate at which this machine receives, over all connections, and T = kLookAtStrangers
// while a stranger stands, else kLookAtPeers; limits.h says what a node holds in all. Once the
// descriptors of the process are used up a new connection ends at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "fd.h"
#include "handshake_pace.h"
#include "kimesh/link/limits.h"
#include "kimesh/util/ids.h"
#include "undelivered_bytes.h"

namespace kimesh {

// A stranger is a connection without a good hello.
inline constexpr Duration kHelloMax = std::chrono::seconds(3);  // from its start to its hello
// A peer of a busy machine reads its refusal in less; a stranger may never hang up.
inline constexpr Duration kHearRefusal = std::chrono::seconds(5);
inline constexpr Duration kLookAtStrangers = std::chrono::milliseconds(20);
inline constexpr Duration kLookAtPeers = std::chrono::milliseconds(100);

// Thread: the network's.
class AcceptedConnections {
 public:
  explicit AcceptedConnections(HandshakeLimit handshakes) : pace_(handshakes) {}

  // From now on newcomers wait before their handshake, since ZeroMQ is not told of what they say.
  // ZeroMQ reads once when it accepts a connection: a newcomer whose greeting and first command
  // have arrived by then gets its answer, which is half of the work, and waits before its second.
  void hold_newcomers(int listening_fd);
  [[nodiscard]] bool any_waits() const;
  // Lets them begin it, the oldest first: all, or as many as are due. From then on they have
  // kHelloMax.
  void let_in(TimePoint now, bool all);

  // From the monitor, in its order: a descriptor is another connection's after `disconnected`.
  void accepted(int fd, TimePoint now);
  void disconnected(int fd) { all_.erase(fd); }

  // The connection has said a good hello, and stays.
  void admit(int fd);
  // It has been refused, and may take kHearRefusal to hear it and hang up.
  void refuse(int fd, TimePoint now);
  // It is a stranger again, since its node has another connection, or since it serves no link.
  void release(int fd, TimePoint now);
  // Notes that a frame of it, without ZeroMQ's framing, was read.
  void delivered(int fd, std::size_t frame_bytes);

  // Ends what has brought too much, and what has stayed too long unless this thread is not
  // `reading`, so that hellos wait for it. Returns the descriptors of those that had said a good
  // one.
  std::vector<int> look(TimePoint now, bool reading);
  [[nodiscard]] TimePoint deadline() const;  // of the next look

  // Whether somebody was refused and has not hung up yet.
  [[nodiscard]] bool any_refused() const;
  [[nodiscard]] std::uint64_t strangers_ended() const { return strangers_ended_; }

 private:
  enum class State { kStranger, kRefused, kPeer, kEnded };
  struct Accepted {
    TcpPeek tcp;
    State state = State::kStranger;
    bool waits = false;            // for let_in()
    TimePoint until{};             // kStranger, kRefused
    std::uint64_t bytes_max = 0;   // the same: what it may have brought in all
    UndeliveredBytes undelivered;  // kPeer
  };
  [[nodiscard]] Accepted* find(int fd);
  [[nodiscard]] Accepted* oldest_that_waits();
  void end(int fd, Accepted& connection);
  void make_stranger(Accepted& connection, State state, TimePoint until);
  void keep_to_cap();

  HandshakePace pace_;
  bool holds_newcomers_ = false;
  std::map<int, Accepted> all_;  // by descriptor
  TimePoint looked_{};
  std::uint64_t strangers_ended_ = 0;
};

}  // namespace kimesh
