#include "kimesh/link/free_ports.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kimesh/util/check.h"

namespace kimesh {

std::vector<int> free_ports(std::size_t count) {
  std::vector<int> ports, sockets;
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(fd, any, size) == 0 && ::getsockname(fd, any, &size) == 0;
    KIMESH_CHECK(bound, "the kernel has a free port on loopback");
    ports.push_back(ntohs(address.sin_port));
    sockets.push_back(fd);
  }
  for (const int fd : sockets) ::close(fd);
  return ports;
}

}  // namespace kimesh
