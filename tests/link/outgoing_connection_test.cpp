// Steps one outgoing link, to which its far node connects, through what the network's thread does
// between two looks at its sockets.
#include "src/link/outgoing_connection.h"

#include <sys/socket.h>

#include "src/link/accepted_connections.h"
#include "tests/link/network_fixture.h"

namespace kimesh::outgoing_connection_test {
namespace {

const LinkIndex kLink = link_of(0, 1);
constexpr Duration kDeadAfter = std::chrono::seconds(15), kRedial = std::chrono::milliseconds(1);

class AwaitingLink : public testing::Test {
 protected:
  AwaitingLink() { EXPECT_EQ(router_.bind("tcp://127.0.0.1:*"), 0); }

  // Connects a far node. Gives the routing id that our ROUTER has for its connection, whose
  // descriptor is fd_ from then on.
  std::string connect(std::optional<ZmqSocket>& far) {
    far.emplace(far_zmq_, ZMQ_DEALER);
    EXPECT_EQ(far->connect(router_.last_endpoint()), 0);
    const std::byte any{};
    EXPECT_TRUE(until([&] { return far->send({{&any, 1}}) == SendOutcome::kSent; }));
    ZmqPart id, body;
    EXPECT_TRUE(until([&] { return router_.receive(id); }));
    EXPECT_TRUE(until([&] { return router_.receive(body); }));
    fd_ = body.source_fd();
    const auto bytes = id.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void accept(const std::string& routing_id, std::uint32_t connection) {
    Hello hello = test_hello("b");
    hello.from_receiver = true;
    hello.connection = connection;
    ASSERT_TRUE(link_.accept(hello, {&router_, &accepted_, routing_id, -1}, start_));
  }

  // Releases all frames that the emulated link holds in one pass of the network's thread.
  void release_all() {
    const TimePoint late = start_ + ++passes_ * std::chrono::seconds(100);
    std::vector<Shaper::Release> due;
    shaper_.take_due(late, due);
    EXPECT_GT(due.size(), 1u);
    for (const Shaper::Release& frame : due) link_.released(frame);
    link_.pump(late);
  }

  static bool until(const std::function<bool()>& happened) {
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (!happened())
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }

  static OutgoingLink spec(LinkSpec emulation = slow(8e6)) {
    return {kLink, 1, "b", "", std::move(emulation), true};
  }
  OutgoingConnection::Shared shared() {
    return {zmq_,
            gate_,
            peers_,
            shaper_,
            test_hello("a"),
            kDeadAfter / 3,
            nullptr,
            {resolve_name, *wake_event_}};
  }

  ZmqContext zmq_{64, kDeadAfter, kRedial}, far_zmq_{64, kDeadAfter, kRedial};
  ZmqSocket router_{zmq_, ZMQ_ROUTER};
  int fd_ = -1;
  AcceptedConnections accepted_{HandshakeLimit{}};
  std::vector<NetworkEvent> events_;
  EventGate gate_{[this](NetworkEvent& event) {
    events_.push_back(std::move(event));
    return true;
  }};
  Peers peers_{kDeadAfter};
  TimePoint start_ = std::chrono::steady_clock::now();
  unsigned passes_ = 0;
  Shaper shaper_{{spec().spec}, std::nullopt, start_};
  Result<WakeEvent> wake_event_ = WakeEvent::make();
  OutgoingConnection link_{spec(), shared(), 0};
};

// A send may fail before ZeroMQ's monitor tells that the connection has ended. Seen to fail:
// released() sent each frame at once, and the frames behind the one that failed were sent on the
// next connection, before the chunks of that one.
TEST_F(AwaitingLink, FramesOfALostConnectionAreNotSentOnTheNextOne) {
  std::optional<ZmqSocket> far;
  const std::string lost = connect(far);
  accept(lost, 1);
  link_.send(on(kLink, content(500'000, 1)));
  link_.pump(start_);
  far.reset();
  const std::byte any{};
  ASSERT_TRUE(until([&] {
    ZmqPart rest;  // ZeroMQ ends a connection once all that it has brought was read
    (void)router_.receive(rest);
    return router_.send({{&any, 1}}, lost) == SendOutcome::kUnreachable;
  }));
  release_all();
  ASSERT_FALSE(link_.is_ready());

  const std::string next = connect(far);
  accept(next, 2);
  link_.pump(start_);
  release_all();
  EXPECT_TRUE(link_.drained());
  std::vector<unsigned> chunks;
  for (bool whole = false; !whole;) {
    ZmqPart part;
    ASSERT_TRUE(until([&] { return far->receive(part); }));
    const auto frame = decode_frame(part.bytes());
    ASSERT_TRUE(frame.ok());
    const Chunk* chunk = std::get_if<Chunk>(&*frame);
    if (chunk) chunks.push_back(chunk->index);
    whole = chunk && chunks.size() == chunk->count;
  }
  for (unsigned i = 0; i < chunks.size(); ++i) EXPECT_EQ(chunks[i], i);
}

// The socket of a new connection has no pace. Seen to fail: the pace was asked for with chunk 0
// alone.
TEST_F(AwaitingLink, AMessageThatGoesOnInItsMiddleKeepsItsPace) {
  constexpr std::uint32_t kPace = 1'000'000;
  OutgoingConnection link(spec({}), shared(), std::nullopt);
  SendMessage message = on(kLink, content(500'000, 1));
  message.pace_bytes_per_s = kPace;
  link.send(std::move(message));
  std::optional<ZmqSocket> far;
  const std::string routing_id = connect(far);
  Hello hello = test_hello("b");
  hello.from_receiver = true;
  hello.sender = test_hello("a").incarnation;
  hello.held = 3;
  ASSERT_TRUE(link.accept(hello, {&router_, &accepted_, routing_id, fd_}, start_));
  link.pump(start_);
  std::uint32_t pace = 0;
  socklen_t size = sizeof pace;
  ASSERT_EQ(::getsockopt(fd_, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, &size), 0);
  EXPECT_EQ(pace, kPace);
}

}  // namespace
}  // namespace kimesh::outgoing_connection_test
