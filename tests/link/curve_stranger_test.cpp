// Strangers at an encrypted port: handshakes that are cut short, handshakes that were overheard,
// and floods.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/link/network_fixture.h"
#include "tests/link/resident_bytes.h"

namespace kimesh::curve_stranger_test {
namespace {

const LinkIndex kAtoB = link_of(0, 1);

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  // These two return false where the other side has hung up.
  bool say(std::span<const char> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool hear(std::vector<char>& bytes) const {
    char buffer[65536];
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    if (size > 0) bytes.insert(bytes.end(), buffer, buffer + size);
    return size > 0;
  }

 private:
  int fd_;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Socket connect_to(const std::string& endpoint) {
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  const sockaddr_in address = loopback(port);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

// A port between a and b, where all is overheard.
class Relay {
 public:
  Relay() {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(port_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(port_.fd(), 1), 0);
    ::getsockname(port_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

  // Carries one connection to `endpoint` until `enough`; what the dialling side said.
  template <typename Enough>
  std::vector<char> carry(const std::string& endpoint, const Enough& enough) {
    const Socket near(::accept(port_.fd(), nullptr, nullptr)), far = connect_to(endpoint);
    std::vector<char> there, back;
    std::size_t said = 0, answered = 0;
    while (!enough()) {
      pollfd ready[2] = {{near.fd(), POLLIN, 0}, {far.fd(), POLLIN, 0}};
      ::poll(ready, 2, 10);
      if (ready[0].revents != 0 && !near.hear(there)) break;
      if (ready[1].revents != 0 && !far.hear(back)) break;
      far.say(std::span(there).subspan(said));
      near.say(std::span(back).subspan(answered));
      said = there.size(), answered = back.size();
    }
    return there;
  }

 private:
  Socket port_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string endpoint_;
};

struct Keys {
  CurvePair a = make_curve_pair(), b = make_curve_pair();
  [[nodiscard]] CurveKeys of(const CurvePair& own) const {
    return {own, {{"a", a.public_key}, {"b", b.public_key}}};
  }
};

// What a said on a connection on which a message has come to b.
std::vector<char> overheard(const Keys& keys, TestNode& b) {
  Relay relay;
  TestNode a;
  NetworkOptions options = options_of(0, {1}, {});
  options.curve = keys.of(keys.a);
  start(a, std::move(options));
  a.network->dial(kAtoB, relay.endpoint());
  a.network->send(on(kAtoB, content(1000, 1)));
  bool arrived = false;
  return relay.carry(b.network->bound_endpoint(), [&] {
    while (auto event = b.events.try_pop())
      arrived = arrived || std::holds_alternative<MessageArrived>(*event);
    return arrived;
  });
}

struct SecuredNode : testing::Test {
  Keys keys;
  TestNode b;
  void SetUp() override { listen(b); }
  void listen(TestNode& node) const {
    NetworkOptions options = options_of(1, {}, {0});
    options.curve = keys.of(keys.b);
    start(node, std::move(options));
  }
  // Says `bytes`, and waits until b hangs up.
  void say_until_hung_up(std::span<const char> bytes, bool stop) const {
    const Socket socket = connect_to(b.network->bound_endpoint());
    socket.say(bytes);
    if (stop) ::shutdown(socket.fd(), SHUT_WR);
    std::vector<char> answers;
    while (socket.hear(answers)) {
    }
  }
  // No hello was believed; signs of life of the connection before may still come.
  void expect_nobody_arrived() {
    while (auto event = b.events.try_pop())
      EXPECT_FALSE(std::holds_alternative<PeerArrived>(*event));
  }
};

// The server's key of a connection is new each time. Seen to fail: on a port without encryption.
TEST_F(SecuredNode, AnOverheardConnectionCannotBeReplayed) {
  const std::vector<char> said = overheard(keys, b);
  ASSERT_GT(said.size(), 1000u);
  for (int time = 0; time < 5; ++time) {
    say_until_hung_up(said, false);
    expect_nobody_arrived();
  }
}

TEST_F(SecuredNode, AHandshakeThatIsCutAnywhereDoesNoHarm) {
  TestNode twin;  // b has not met a yet
  listen(twin);
  const std::vector<char> said = overheard(keys, twin);
  for (std::size_t size = 0; size < 700; size += 7)
    say_until_hung_up(std::span(said).first(size), true);
  expect_nobody_arrived();
  TestNode a;
  NetworkOptions options = options_of(0, {1}, {});
  options.curve = keys.of(keys.a);
  start(a, std::move(options));
  a.network->dial(kAtoB, b.network->bound_endpoint());
  EXPECT_TRUE(a.await<LinkUp>()) << "b listens still";
}

// ZeroMQ frames that begin with `flags` and have 60,000 bytes, without an end. Returns the most
// memory that this process held meanwhile.
std::size_t flood(const Socket& socket, char flags) {
  constexpr std::uint16_t kBytes = 60'000;
  constexpr int kFramesMax = 2'000;
  std::vector<char> frame(9 + kBytes);
  frame[0] = flags;
  frame[7] = static_cast<char>(kBytes >> 8);
  frame[8] = static_cast<char>(kBytes & 0xff);
  std::size_t most = 0;
  for (int sent = 0; sent < kFramesMax && socket.say(frame); ++sent)
    most = std::max(most, resident_bytes());
  return most;
}

// Whatever a stranger says first: the greeting of a port without keys, one with keys, or all that a
// node of the mesh once said. Seen to fail: on a port without encryption.
TEST_F(SecuredNode, AFloodTakesTenMegabytesAtMost) {
  const std::vector<char> said = overheard(keys, b);
  constexpr std::size_t kGreeting = 64, kMechanism = 12;
  ASSERT_GT(said.size(), kGreeting);
  const std::vector<char> greeting(said.begin(), said.begin() + kGreeting);
  std::vector<char> plain = greeting;
  std::ranges::copy(std::string_view("NULL\0", 5), plain.begin() + kMechanism);
  constexpr char kLongMore = 3, kLongCommand = 6;
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  for (const auto& beginning : std::vector{plain, greeting, said})
    for (const char flags : {kLongMore, kLongCommand}) {
      const Socket stranger = connect_to(b.network->bound_endpoint());
      stranger.say(beginning);
      most = std::max(most, flood(stranger, flags));
    }
  constexpr std::size_t kMost = 10 << 20;
  if (kResidentIsOurs) {
    EXPECT_LT(most - before, kMost);
  }
  expect_nobody_arrived();
}

}  // namespace
}  // namespace kimesh::curve_stranger_test
