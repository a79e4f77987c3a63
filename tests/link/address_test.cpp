// Addresses of other kinds than 127.0.0.1.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/link/network_fixture.h"

namespace kimesh {
namespace {

bool has_ipv6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool can = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (fd >= 0) ::close(fd);
  return can;
}

// Seen to fail: IPv6 left off.
TEST(Address, MayBeOneOfIPv6) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no ::1";
  NetworkOptions options = options_of(1, {}, {0});
  options.listen = "tcp://[::1]:*";
  TestNode a, b;
  start(b, std::move(options));
  EXPECT_THAT(b.network->bound_endpoint(), testing::HasSubstr("tcp://[::1]:"));
  start(a, options_of(0, {1}, {}));
  a.network->dial(link_of(0, 1), b.network->bound_endpoint());
  a.network->send(on(link_of(0, 1), content(3000, 1)));
  EXPECT_TRUE(b.await<MessageArrived>());
}

}  // namespace
}  // namespace kimesh
