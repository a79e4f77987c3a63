// A small HTTP/1.1 server of fixed routes, for metrics and for the live page. It changes nothing:
// GET and HEAD of paths in a table, no bodies, no files, no TLS, one request a connection.
//
// One thread polls all connections and calls the routes, so that a slow client delays nobody, and
// what the routes read needs no lock.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "kimesh/http/listen_address.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/util/thrown.h"

namespace kimesh {

// Open at once. One that has not asked yet makes room for the next: 64 silent clients lock nobody
// out.
inline constexpr std::size_t kHttpConnectionsMax = 64;
// Of a request's lines: browsers send about 1 kB.
inline constexpr std::size_t kHttpRequestBytesMax = 8 << 10;
// For a client to send its request, and to take the answer: a page of 300 kB at 10 kB/s.
inline constexpr std::chrono::seconds kHttpRequestTime{5}, kHttpAnswerTime{30};
// How long an answer waits for news, where the request says so: a page is drawn once a second.
inline constexpr std::chrono::seconds kHttpNewsTime{1};
// How long clients that waited for news may come back at the end, for the last of them.
inline constexpr std::chrono::milliseconds kHttpFarewellTime{300};

struct HttpRequest {
  std::string path;                           // "/state.json"
  std::map<std::string, std::string> params;  // behind the question mark, decoded
  [[nodiscard]] std::string param(const std::string& name) const;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpRoute {
  // Thread: the server's.
  std::function<HttpAnswer(const HttpRequest&)> answer;
  // Needs no token: its answer is no secret.
  bool is_open = false;
  // Whether an answer can wait for news; it comes early at the end. Empty: never.
  std::function<bool(const HttpRequest&)> waits{};
};

struct HttpOptions {
  ListenAddress address;
  // Every request must bring it, "Authorization: Bearer TOKEN", but for open routes. Empty: none;
  // on loopback requests must then name an address or localhost as their host, so that no website
  // that a browser visits can ask under a name of its own (DNS rebinding).
  std::string token{};
  std::map<std::string, HttpRoute> routes{};  // by path
};

class HttpServer {
 public:
  // Listens; clients wait until serve(). Errors: UserInput, half a sentence: "ADDRESS: it is in
  // use".
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(HttpOptions options);
  // Answers who waits for news, and ends within kHttpFarewellTime.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Requires that serve() was not called.
  void add(const std::string& path, HttpRoute route);
  // Starts to answer. What a route throws is answered with 500; what else the server's thread
  // throws is kept in `thrown`, which outlives this, and nothing is answered any more.
  void serve(Thrown& thrown);

  [[nodiscard]] const ListenAddress& address() const { return options_.address; }  // with its port
  [[nodiscard]] int port() const { return options_.address.port; }
  [[nodiscard]] const std::string& token() const { return options_.token; }

 private:
  HttpServer(HttpOptions options, int listener, int wakeup);
  HttpOptions options_;
  const int listener_, wakeup_;
  std::jthread thread_;
};

}  // namespace kimesh
