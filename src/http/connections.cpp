#include "connections.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kimesh {
namespace {

constexpr std::string_view kTooLong =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: "
    "0\r\n\r\n";
// Where a client cannot be accepted, poll() would return at once, over and over.
constexpr std::chrono::milliseconds kDeafTime{200};
constexpr std::string_view kEndOfRequest = "\r\n\r\n";
// A page that waits comes back as soon as it has drawn its last answer.
constexpr std::chrono::seconds kWatchedLately = 3 * kHttpNewsTime;

TimePoint clock_now() {
  return std::chrono::steady_clock::now();
}

// Whether nothing came, and more may come.
bool is_for_later(ssize_t count) {
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

}  // namespace

HttpConnections::~HttpConnections() {
  for (const Connection& connection : connections_) ::close(connection.socket);
}

void HttpConnections::run() {
  while (!is_over(clock_now())) {
    std::vector<pollfd> polled{{wakeup_, static_cast<short>(farewell_until_ ? 0 : POLLIN), 0},
                               {listener_, static_cast<short>(deaf_until_ ? 0 : POLLIN), 0}};
    for (const Connection& connection : connections_) {
      const bool takes = connection.does == Connection::Does::kTakes;
      polled.push_back({connection.socket, static_cast<short>(takes ? POLLOUT : POLLIN), 0});
    }
    ::poll(polled.data(), polled.size(), milliseconds_left(clock_now()));
    const TimePoint now = clock_now();
    if (deaf_until_ && now >= *deaf_until_) deaf_until_.reset();
    if (!farewell_until_ && polled[0].revents != 0) begin_farewell(now);
    for (std::size_t i = 0; i < connections_.size(); ++i)
      visit(connections_[i], now, polled[i + 2].revents != 0);
    std::erase_if(connections_, [](const Connection& connection) {
      if (connection.over) ::close(connection.socket);
      return connection.over;
    });
    if (polled[1].revents != 0) accept_all(now);
  }
}

// Whoever waits for news gets the last of them.
void HttpConnections::begin_farewell(TimePoint now) {
  farewell_until_ = now + kHttpFarewellTime;
  for (Connection& connection : connections_)
    if (connection.does == Connection::Does::kWaits) connection.until = now;
}

bool HttpConnections::is_over(TimePoint now) const {
  if (!farewell_until_) return false;
  const bool watched = last_wait_ && now - *last_wait_ < kWatchedLately;
  return now >= *farewell_until_ || (!watched && connections_.empty());
}

int HttpConnections::milliseconds_left(TimePoint now) const {
  TimePoint next =
      std::min(farewell_until_.value_or(TimePoint::max()), deaf_until_.value_or(TimePoint::max()));
  for (const Connection& connection : connections_) next = std::min(next, connection.until);
  if (next == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

void HttpConnections::accept_all(TimePoint now) {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0 && errno == ECONNABORTED) continue;
    if (socket < 0 && errno != EAGAIN && errno != EINTR) deaf_until_ = now + kDeafTime;
    if (socket < 0) return;
    if (connections_.size() >= kHttpConnectionsMax) make_room();
    if (connections_.size() >= kHttpConnectionsMax) {
      ::close(socket);
      continue;
    }
    Connection connection;
    connection.socket = socket;
    connection.until = now + kHttpRequestTime;
    connections_.push_back(std::move(connection));
  }
}

// Drops who has been silent for longest, or else who does not take an answer.
void HttpConnections::make_room() {
  auto oldest = std::ranges::find(connections_, Connection::Does::kAsks, &Connection::does);
  if (oldest == connections_.end())
    oldest = std::ranges::find(connections_, Connection::Does::kTakes, &Connection::does);
  if (oldest == connections_.end()) return;
  ::close(oldest->socket);
  connections_.erase(oldest);
}

void HttpConnections::visit(Connection& connection, TimePoint now, bool ready) {
  if (ready && connection.does == Connection::Does::kTakes) return send(connection, now);
  if (ready) hear(connection, now);
  if (connection.over || now < connection.until) return;
  if (connection.does == Connection::Does::kWaits) return respond(connection, now);
  connection.over = true;
}

void HttpConnections::hear(Connection& connection, TimePoint now) {
  std::array<char, 4096> bytes;
  const ssize_t count = ::recv(connection.socket, bytes.data(), bytes.size(), 0);
  if (is_for_later(count)) return;
  connection.over = count <= 0;  // it has left, whether it waited or not
  if (connection.over || connection.does == Connection::Does::kWaits) return;
  connection.request.append(bytes.data(), static_cast<std::size_t>(count));
  if (connection.request.find(kEndOfRequest) != std::string::npos) return respond(connection, now);
  if (connection.request.size() < kHttpRequestBytesMax) return;
  connection.answer = kTooLong;
  send(connection, now);
}

void HttpConnections::respond(Connection& connection, TimePoint now) {
  const bool has_waited = connection.does == Connection::Does::kWaits;
  auto answer = exchange_.answer(connection.request, !has_waited && !farewell_until_);
  if (!answer) {
    connection.does = Connection::Does::kWaits;
    connection.until = now + kHttpNewsTime;
    last_wait_ = now;
    return;
  }
  connection.answer = std::move(*answer);
  send(connection, now);
}

void HttpConnections::send(Connection& connection, TimePoint now) {
  if (connection.does != Connection::Does::kTakes) connection.until = now + kHttpAnswerTime;
  connection.does = Connection::Does::kTakes;
  const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
  const ssize_t count = ::send(connection.socket, rest.data(), rest.size(), MSG_NOSIGNAL);
  if (is_for_later(count)) {
    connection.over = now >= connection.until;
    return;
  }
  if (count > 0) connection.sent += static_cast<std::size_t>(count);
  connection.over = count <= 0 || connection.sent == connection.answer.size();
}

}  // namespace kimesh
