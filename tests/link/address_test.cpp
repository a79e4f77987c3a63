// Addresses of other kinds than 127.0.0.1.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/link/endpoint.h"
#include "tests/link/network_fixture.h"

namespace kimesh::address_test {
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

// Every system knows this one. Seen to fail where the name itself was bound.
TEST(Address, MayBeAName) {
  NetworkOptions options = options_of(1, {}, {0});
  options.listen = "tcp://localhost:*";
  TestNode a, b;
  start(b, std::move(options));
  EXPECT_THAT(b.network->bound_endpoint(), testing::HasSubstr("tcp://127.0.0.1:"));
  start(a, options_of(0, {1}, {}));
  a.network->dial(link_of(0, 1), b.network->bound_endpoint());
  a.network->send(on(link_of(0, 1), content(3000, 1)));
  EXPECT_TRUE(b.await<MessageArrived>());
}

using Places = std::vector<std::string>;

// Seen to fail with the loopback address of a name that others dial, and with numbers resolved.
TEST(Address, OfANameIsWhereOthersReachTheMachine) {
  const auto knows = [](Places numbers) {
    return [numbers = std::move(numbers)](const std::string&) { return numbers; };
  };
  const auto places = [&](const std::string& endpoint, Places numbers) {
    return listen_places(endpoint, knows(std::move(numbers)));
  };
  EXPECT_EQ(places("tcp://alpha:7101", {"192.0.2.7"}), Places{"tcp://192.0.2.7:7101"});
  EXPECT_EQ(places("tcp://alpha:7101", {"192.0.2.7", "192.0.2.8"}),
            (Places{"tcp://192.0.2.7:7101", "tcp://192.0.2.8:7101"}));
  EXPECT_EQ(places("tcp://alpha:7101", {"127.0.1.1"}), Places{"tcp://*:7101"})
      << "Debian's own name";
  EXPECT_EQ(places("tcp://localhost:7101", {"127.0.0.1"}), Places{"tcp://127.0.0.1:7101"});
  EXPECT_EQ(places("tcp://unknown:7101", {}), Places{"tcp://unknown:7101"});
  EXPECT_EQ(places("tcp://six:7101", {"[fd00::7]"}), Places{"tcp://[fd00::7]:7101"});
  EXPECT_EQ(places("tcp://six:7101", {"[::1]"}), Places{"tcp://[::]:7101"});
  EXPECT_EQ(places("tcp://ip6-localhost:7101", {"[::1]"}), Places{"tcp://[::1]:7101"});
  for (const char* number : {"tcp://192.0.2.9:7101", "tcp://*:7101", "tcp://[fd00::1]:7101"})
    EXPECT_EQ(places(number, {"192.0.2.7"}), Places{number});
}

TEST(Address, MayBeANameOfIPv6) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no ::1";
  NetworkOptions of_b = options_of(1, {}, {0}), of_a = options_of(0, {1}, {});
  of_b.listen = "tcp://[::1]:*";
  of_a.resolve = [](const std::string&) { return Places{"[::1]"}; };
  TestNode a, b;
  start(b, std::move(of_b));
  start(a, std::move(of_a));
  a.network->dial(link_of(0, 1), with_host(b.network->bound_endpoint(), "six"));
  a.network->send(on(link_of(0, 1), content(3000, 1)));
  EXPECT_TRUE(b.await<MessageArrived>());
}

}  // namespace
}  // namespace kimesh::address_test
