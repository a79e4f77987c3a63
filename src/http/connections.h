// The connections of a server, and the loop that polls them. Thread: the server's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exchange.h"
#include "kimesh/http/server.h"

namespace kimesh {

class HttpConnections {
 public:
  // `options` outlives this. A byte at the eventfd `wakeup` ends run().
  HttpConnections(const HttpOptions& options, int listener, int wakeup)
      : exchange_(options), listener_(listener), wakeup_(wakeup) {}
  ~HttpConnections();
  HttpConnections(const HttpConnections&) = delete;
  HttpConnections& operator=(const HttpConnections&) = delete;

  void run();

 private:
  struct Connection {
    int socket = -1;
    enum class Does { kAsks, kWaits, kTakes } does = Does::kAsks;
    TimePoint until;  // asks: dropped then; waits: answered then; takes: dropped then
    std::string request, answer;
    std::size_t sent = 0;
    bool over = false;  // to be closed
  };
  void accept_all(TimePoint now);
  void make_room();
  void hear(Connection& connection, TimePoint now);
  void respond(Connection& connection, TimePoint now);
  void send(Connection& connection, TimePoint now);
  void visit(Connection& connection, TimePoint now, bool ready);
  void begin_farewell(TimePoint now);
  [[nodiscard]] bool is_over(TimePoint now) const;
  [[nodiscard]] int milliseconds_left(TimePoint now) const;

  HttpExchange exchange_;
  const int listener_, wakeup_;
  std::vector<Connection> connections_;
  std::optional<TimePoint> farewell_until_;  // absent: nobody has ended this
  std::optional<TimePoint> deaf_until_;      // descriptors are used up
  std::optional<TimePoint> last_wait_;       // when a client last waited for news
};

}  // namespace kimesh
