#include "kimesh/link/free_ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "fd.h"

namespace kimesh {

Result<std::vector<int>> free_ports(std::size_t count) {
  raise_descriptor_limit();
  std::vector<int> ports;
  std::vector<Fd> sockets;
  for (std::size_t i = 0; i < count; ++i) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    const bool bound =
        fd && ::bind(fd.get(), any, size) == 0 && ::getsockname(fd.get(), any, &size) == 0;
    if (!bound)
      return Error{ErrorCode::kNetwork, fmt::format("cannot find {} free ports of 127.0.0.1: {}",
                                                    count, std::generic_category().message(errno))};
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(std::move(fd));
  }
  return ports;
}

}  // namespace kimesh
