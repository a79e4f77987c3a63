// Connections that a node dials, where ZeroMQ has little room for sockets.
#include "src/link/dialled_socket.h"

#include <deque>

#include "tests/link/network_fixture.h"

namespace kimesh::dialled_socket_test {
namespace {

constexpr Duration kDeadAfter = std::chrono::seconds(15), kRedial = std::chrono::milliseconds(1);
constexpr int kSocketsOfOneLink = 3;
const DialledSocket::Far kB{1, "b"};

struct Dialling : testing::Test {
  Dialling() { EXPECT_EQ(router.bind("tcp://127.0.0.1:*"), 0); }

  DialledSocket::Shared shared(ZmqContext& zmq) {
    return {zmq, gate, nullptr, "a", {resolve_name, *wake_event}};
  }
  static bool until(const std::function<bool()>& happened) {
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (!happened())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }
  // Whenever a socket is to be dialled again, it is by then.
  static TimePoint late() { return std::chrono::steady_clock::now() + kWaitMax; }

  ZmqContext far_zmq{64, kDeadAfter, kRedial};
  ZmqSocket router{far_zmq, ZMQ_ROUTER};
  std::vector<NetworkEvent> events;
  EventGate gate{[this](NetworkEvent& event) {
    events.push_back(std::move(event));
    return true;
  }};
  Result<WakeEvent> wake_event = WakeEvent::make();
};

// Seen to fail: KIMESH_CHECK ends the process.
TEST_F(Dialling, IsTriedAgainWhereThereIsNoRoomForASocket) {
  ZmqContext zmq(kSocketsOfOneLink, kDeadAfter, kRedial);
  DialledSocket first(shared(zmq), kB), second(shared(zmq), kB);
  ASSERT_TRUE(first.dial(router.last_endpoint()));
  ASSERT_TRUE(first.socket());
  EXPECT_TRUE(second.dial(router.last_endpoint()));
  EXPECT_TRUE(second.is_dialled());
  EXPECT_FALSE(second.socket());
  EXPECT_LT(second.deadline(), late());
  second.redial(late());
  EXPECT_FALSE(second.socket());
  ASSERT_EQ(events.size(), 1u);
  const auto* refused = std::get_if<PeerRefused>(&events[0]);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->node, 1u);
  EXPECT_THAT(refused->sentence, testing::HasSubstr("there is no room for another socket"));

  first.close();
  EXPECT_TRUE(until([&] {
    second.redial(late());
    return second.socket() != nullptr;
  }));
  EXPECT_TRUE(until([&] { return second.next_change() == DialledSocket::Change::kUp; }));
}

// ZeroMQ still ends the sockets of the tries before. Seen to fail with room for four sockets a
// link: the first one without a socket is among the first twenty.
TEST_F(Dialling, OfAllLinksAnewInOnePassHasRoom) {
  constexpr std::size_t kLinks = 64;
  ZmqContext zmq(sockets_max(kLinks), kDeadAfter, kRedial);
  std::deque<DialledSocket> links;
  for (std::size_t i = 0; i < kLinks; ++i) {
    links.emplace_back(shared(zmq), kB);
    ASSERT_TRUE(links.back().dial(router.last_endpoint()));
  }
  for (int tries = 0; tries < 2; ++tries)
    for (std::size_t i = 0; i < kLinks; ++i) {
      links[i].hang_up();
      links[i].redial(late());
      ASSERT_TRUE(links[i].socket()) << "link " << i;
    }
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace kimesh::dialled_socket_test
