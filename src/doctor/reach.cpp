#include "reach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "kimesh/util/fd.h"

namespace kimesh {
namespace {

struct Endpoint {
  std::string host, port;
};

// Splits tcp://HOST:PORT, or tcp://[HOST]:PORT for IPv6.
Endpoint split(const std::string& endpoint) {
  const std::size_t begin = endpoint.find("//") + 2, colon = endpoint.rfind(':');
  std::string host = endpoint.substr(begin, colon - begin);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, endpoint.substr(colon + 1)};
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// The errno of a connection to one address; 0: somebody listens there.
int try_one(const addrinfo& address, Duration limit) {
  const Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  int code = ::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    pollfd ready{fd.get(), POLLOUT, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(limit);
    socklen_t size = sizeof code;
    if (::poll(&ready, 1, static_cast<int>(wait.count())) <= 0)
      code = ETIMEDOUT;
    else if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0)
      code = errno;
  }
  return code;
}

std::string sentence(int code, const Endpoint& at) {
  switch (code) {
    case ECONNREFUSED:
      return fmt::format("nobody listens at {}:{}: start `kimesh doctor` there, or check the port",
                         at.host, at.port);
    case ETIMEDOUT:
      return fmt::format(
          "{}:{} does not answer: the machine is off, or a firewall drops packets "
          "to this port; open TCP port {} there",
          at.host, at.port, at.port);
    case EHOSTUNREACH:
    case ENETUNREACH:
      return fmt::format("no route leads to {}: check the address and this machine's network",
                         at.host);
    default:
      return fmt::format("a connection to {}:{} fails: {}", at.host, at.port, std::strerror(code));
  }
}

}  // namespace

std::string why_unreachable(const std::string& endpoint, Duration limit) {
  const Endpoint at = split(endpoint);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unresolved = ::getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found);
  const Addresses addresses(found, &::freeaddrinfo);
  if (unresolved != 0)
    return fmt::format(
        "the name {} is not known here ({}): correct it in the topology, or add it "
        "to /etc/hosts",
        at.host, ::gai_strerror(unresolved));
  int code = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    code = try_one(*address, limit);
    if (code == 0) return "";
  }
  return sentence(code, at);
}

}  // namespace kimesh
