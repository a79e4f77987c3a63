#include "accepted_connections.h"

#include <sys/socket.h>

#include <algorithm>

namespace kimesh {

AcceptedConnections::Accepted* AcceptedConnections::find(int fd) {
  const auto at = all_.find(fd);
  return at == all_.end() ? nullptr : &at->second;
}

void AcceptedConnections::accepted(int fd, TimePoint now) {
  Accepted& connection = all_[fd];
  connection = {TcpPeek(fd),     State::kStranger,  holds_newcomers_,
                now + kHelloMax, kStrangerBytesMax, {}};
  if (!connection.tcp) return end(fd, connection);  // no descriptor is left
  keep_to_cap();
}

// ZeroMQ is told of a newcomer that brings as many bytes as a stranger may; the next look at the
// connections ends it.
void AcceptedConnections::hold_newcomers(int listening_fd) {
  wake_accepted_at(listening_fd, kStrangerBytesMax);
  holds_newcomers_ = true;
}

AcceptedConnections::Accepted* AcceptedConnections::oldest_that_waits() {
  Accepted* oldest = nullptr;
  for (auto& [fd, connection] : all_)
    if (connection.waits && (!oldest || connection.until < oldest->until)) oldest = &connection;
  return oldest;
}

bool AcceptedConnections::any_waits() const {
  return holds_newcomers_ &&
         std::ranges::any_of(all_, [](const auto& entry) { return entry.second.waits; });
}

void AcceptedConnections::let_in(TimePoint now, bool all) {
  while (Accepted* next = oldest_that_waits()) {
    if (!all && !pace_.take(now)) return;
    next->waits = false;
    next->until = now + kHelloMax;
    next->tcp.wake_at(1);
  }
}

void AcceptedConnections::keep_to_cap() {
  const auto is_stranger = [](const auto& entry) {
    return entry.second.state == State::kStranger || entry.second.state == State::kRefused;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(all_, is_stranger)) <= kStrangersMax) return;
  auto oldest = all_.end();
  for (auto at = all_.begin(); at != all_.end(); ++at)
    if (is_stranger(*at) && (oldest == all_.end() || at->second.until < oldest->second.until))
      oldest = at;
  end(oldest->first, oldest->second);
}

void AcceptedConnections::admit(int fd) {
  Accepted* connection = find(fd);
  if (!connection || connection->state == State::kEnded) return;
  connection->state = State::kPeer;
  connection->undelivered.begin(connection->tcp);
}

// A peer may have sent as much as any peer before it hears that it is none any more.
void AcceptedConnections::make_stranger(Accepted& connection, State state, TimePoint until) {
  if (connection.state == State::kPeer)
    connection.bytes_max = connection.tcp.received() + kUndeliveredBytesMax;
  connection.state = state;
  connection.until = until;
}

void AcceptedConnections::refuse(int fd, TimePoint now) {
  Accepted* connection = find(fd);
  if (!connection || connection->state == State::kEnded) return;
  if (connection->state == State::kRefused) return;  // it does not stay longer
  make_stranger(*connection, State::kRefused, now + kHearRefusal);
}

void AcceptedConnections::release(int fd, TimePoint now) {
  Accepted* connection = find(fd);
  if (!connection || connection->state != State::kPeer) return;
  make_stranger(*connection, State::kStranger, now + kHelloMax);
}

void AcceptedConnections::end(int fd, Accepted& connection) {
  if (connection.state == State::kEnded) return;
  if (connection.state != State::kPeer) ++strangers_ended_;
  connection.state = State::kEnded;
  connection.waits = false;
  // Without a handle of our own `fd` may be another socket by now, whose connection is then made
  // anew.
  if (!connection.tcp) {
    ::shutdown(fd, SHUT_RDWR);
    return;
  }
  connection.tcp.break_connection();
  connection.tcp = TcpPeek();
}

void AcceptedConnections::delivered(int fd, std::size_t frame_bytes) {
  if (Accepted* connection = find(fd)) connection->undelivered.delivered(frame_bytes);
}

std::vector<int> AcceptedConnections::look(TimePoint now, bool reading) {
  if (now < deadline()) return {};
  looked_ = now;
  std::vector<int> peers;
  for (auto& [fd, connection] : all_) {
    if (connection.state == State::kEnded) continue;
    if (connection.state != State::kPeer) {
      const bool late = reading && now >= connection.until;
      if (late || connection.tcp.received() > connection.bytes_max) end(fd, connection);
      continue;
    }
    if (!connection.undelivered.exceed(connection.tcp, kUndeliveredBytesMax)) continue;
    peers.push_back(fd);
    end(fd, connection);
  }
  return peers;
}

TimePoint AcceptedConnections::deadline() const {
  const auto is_open = [](const auto& entry) { return entry.second.state != State::kEnded; };
  const auto is_stranger = [&](const auto& entry) {
    return is_open(entry) && entry.second.state != State::kPeer;
  };
  if (std::ranges::any_of(all_, is_stranger)) return looked_ + kLookAtStrangers;
  if (std::ranges::any_of(all_, is_open)) return looked_ + kLookAtPeers;
  return TimePoint::max();
}

bool AcceptedConnections::any_refused() const {
  return std::ranges::any_of(
      all_, [](const auto& entry) { return entry.second.state == State::kRefused; });
}

}  // namespace kimesh
