#include "kimesh/http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "connections.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// Requires an address that parse_listen_address() has made.
SocketAddress socket_address(const ListenAddress& address) {
  SocketAddress made;
  const auto port = htons(static_cast<std::uint16_t>(address.port));
  if (address.host.starts_with('[')) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    const std::string inner = address.host.substr(1, address.host.size() - 2);
    ::inet_pton(AF_INET6, inner.c_str(), &v6.sin6_addr);
    made.size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    ::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr);
    made.size = sizeof v4;
  }
  return made;
}

// The port that the kernel has chosen.
int port_of(int listener) {
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  if (::getsockname(listener, bound.get(), &bound.size) != 0) return 0;
  // Both families have the port in the same place.
  return ntohs(reinterpret_cast<sockaddr_in&>(bound.storage).sin_port);
}

bool listens(int socket, SocketAddress& address) {
  const int yes = 1;
  // Connections of an earlier run that are still being buried do not keep the port.
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return ::bind(socket, address.get(), address.size) == 0 &&
         ::listen(socket, static_cast<int>(kHttpConnectionsMax)) == 0;
}

}  // namespace

std::string HttpRequest::param(const std::string& name) const {
  const auto found = params.find(name);
  return found == params.end() ? "" : found->second;
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpOptions options) {
  SocketAddress address = socket_address(options.address);
  constexpr int kKind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int listener = ::socket(address.storage.ss_family, kKind, 0);
  if (listener < 0 || !listens(listener, address)) {
    const std::string why = errno == EADDRINUSE      ? "the address is in use"
                            : errno == EADDRNOTAVAIL ? "the address is not of this machine"
                                                     : std::strerror(errno);
    if (listener >= 0) ::close(listener);
    return Error{ErrorCode::kUserInput, options.address.text() + ": " + why};
  }
  options.address.port = port_of(listener);
  const int wakeup = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wakeup < 0) {
    const std::string why = std::strerror(errno);
    ::close(listener);
    return Error{ErrorCode::kIo, options.address.text() + ": " + why};
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(options), listener, wakeup));
}

HttpServer::HttpServer(HttpOptions options, int listener, int wakeup)
    : options_(std::move(options)), listener_(listener), wakeup_(wakeup) {}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wakeup_, &one, sizeof one));
  if (thread_.joinable()) thread_.join();
  ::close(listener_);
  ::close(wakeup_);
}

void HttpServer::add(const std::string& path, HttpRoute route) {
  KIMESH_CHECK(!thread_.joinable(), "routes are known before the first request");
  options_.routes[path] = std::move(route);
}

void HttpServer::serve(Thrown& thrown) {
  KIMESH_CHECK(!thread_.joinable(), "a server is started once");
  thread_ = std::jthread([this, &thrown] {
    // Signals are for the threads that wait for them.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    ::pthread_setname_np(::pthread_self(), "http");
    thrown.guard("answering over HTTP",
                 [&] { HttpConnections(options_, listener_, wakeup_).run(); });
  });
}

}  // namespace kimesh
