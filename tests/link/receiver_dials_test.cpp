// Links whose receiver opens the connection, as a node behind NAT does: the same contract as that
// of links which their sender dials.
#include <atomic>
#include <future>

#include "tests/link/break_connection.h"
#include "tests/link/network_fixture.h"
#include "tests/link/raw_client.h"

namespace kimesh::receiver_dials_test {
namespace {

using testing::HasSubstr;

const LinkIndex kAtoB = link_of(0, 1);

NetworkOptions awaiting(NodeIndex self, const std::vector<NodeIndex>& to, LinkSpec spec = {}) {
  NetworkOptions options = options_of(self, to, {}, spec);
  for (OutgoingLink& link : options.outgoing) link.awaits = true;
  return options;
}
NetworkOptions dialling(NodeIndex self, const std::vector<NodeIndex>& from) {
  NetworkOptions options = options_of(self, {}, from);
  for (IncomingLink& link : options.incoming) link.dials = true;
  return options;
}

// a -> b, where b dials.
struct Reversed : Pair {
  explicit Reversed(LinkSpec spec = {}) : Pair(awaiting(0, {1}, spec), dialling(1, {0})) {}
  using Pair::Pair;
};

void expect_message(TestNode& node, std::size_t size, std::uint64_t salt) {
  const auto got = node.await<MessageArrived>();
  ASSERT_TRUE(got);
  EXPECT_EQ(payload_of(*got), content(size, salt));
}

TEST(ReceiverDials, MessagesGoOneWayAndAnswersTheOther) {
  Reversed pair;
  EXPECT_EQ(pair.a.await<LinkUp>()->link, kAtoB);
  EXPECT_EQ(pair.b.await<PeerArrived>()->node, 0);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::size_t size = i * 300'000;
    pair.a.network->send(on(kAtoB, content(size, i)));
    expect_message(pair.b, size, i);
    const auto acked = pair.a.await<MessageAcked>();
    ASSERT_TRUE(acked);
    EXPECT_EQ(acked->link, kAtoB);
  }
  const Applied applied{3, 0, 7, Phase::kGather};
  pair.b.network->send(SendApplied{kAtoB, applied});
  EXPECT_EQ(pair.a.await<MessageApplied>()->applied, applied);
  EXPECT_TRUE(pair.a.await<PeerHeard>());
  EXPECT_TRUE(pair.b.await<PeerHeard>());
  const LinkCounters counters = pair.a.network->counters(kAtoB);
  EXPECT_EQ(counters.queued_messages, 0u);
  EXPECT_GE(counters.frame_bytes, counters.message_bytes);
  EXPECT_GE(counters.tcp_bytes_sent, counters.message_bytes);
}

// `ends` halts and leaves as soon as it may; `hears` has to hear of it.
void expect_halt(TestNode& ends, TestNode& hears) {
  ends.network->send(SendHalt{HaltKind::kUserStop, "enough"});
  const auto left = std::async(std::launch::async, [&] {
    ends.network->flush(kWaitMax);
    ends.network.reset();
  });
  EXPECT_EQ(hears.await<PeerHalted>()->reason, "enough");
  hears.network.reset();
  left.wait();
}

// A node that ends while the only connection between the two is down says its halt on the next one.
void expect_halt_on_the_next_connection(Pair& pair, bool sender_ends) {
  ASSERT_TRUE(pair.a.await<LinkUp>());
  ASSERT_TRUE(pair.b.await<PeerArrived>());
  NetworkBreaker::cut(*pair.a.network, kAtoB);
  ASSERT_TRUE(pair.a.await<LinkDown>());
  ASSERT_TRUE(pair.b.await<PeerLeft>());
  sender_ends ? expect_halt(pair.a, pair.b) : expect_halt(pair.b, pair.a);
}

// Seen to fail, each of the four, where the node left without it.
TEST(ReceiverDials, AHaltIsSaidOnTheConnectionAfterOneThatBroke) {
  for (const bool sender_ends : {true, false}) {
    SCOPED_TRACE(sender_ends ? "the sender ends" : "the receiver ends");
    Pair pair;
    expect_halt_on_the_next_connection(pair, sender_ends);
    Reversed reversed;
    expect_halt_on_the_next_connection(reversed, sender_ends);
  }
}

// The connection is broken, and the node that ends does not know it yet. Seen to fail, in about
// half of the runs, where what was said on a connection that broke counted as said.
TEST(ReceiverDials, AHaltThatMayBeLostIsSaidAgainByWhoIsDialled) {
  for (const bool receiver_dials : {false, true})
    for (int run = 0; run < 3; ++run) {
      Pair pair(receiver_dials ? awaiting(0, {1}) : options_of(0, {1}, {}),
                receiver_dials ? dialling(1, {0}) : options_of(1, {}, {0}));
      ASSERT_TRUE(pair.a.await<LinkUp>());
      ASSERT_TRUE(pair.b.await<PeerArrived>());
      NetworkBreaker::cut(*pair.a.network, kAtoB);
      receiver_dials ? expect_halt(pair.a, pair.b) : expect_halt(pair.b, pair.a);
    }
}

// A node that halts waits for a dead peer no longer than a peer may be silent. Seen to hang where
// only events woke the network's thread.
TEST(ReceiverDials, AHaltWaitsForAPeerThatDiedAsLongAsItIsBelievedIn) {
  Pair pair;
  ASSERT_TRUE(pair.b.await<PeerArrived>());
  ASSERT_TRUE(pair.b.await<PeerHeard>());
  pair.a.network.reset();
  ASSERT_TRUE(pair.b.await<PeerLeft>());
  pair.b.network->send(SendHalt{HaltKind::kFailure, "a died"});
  pair.b.network->flush(std::chrono::hours(1));
}

// Each connection carries an eighth of the message at most.
TEST(ReceiverDials, ALinkThatIsCutMoreOftenThanAMessageTakesDeliversIt) {
  constexpr std::size_t kSize = 2'000'000;
  constexpr unsigned kChunks = 4;
  Reversed pair(slow(160e6));
  ASSERT_TRUE(pair.a.await<LinkUp>());
  NetworkBreaker::cut_after(*pair.b.network, kAtoB, kChunks);
  for (std::uint64_t i = 0; i < 2; ++i) pair.a.network->send(on(kAtoB, content(kSize, i)));
  for (std::uint64_t i = 0; i < 2; ++i) {
    expect_message(pair.b, kSize, i);
    EXPECT_TRUE(pair.a.await<MessageAcked>());
  }
  NetworkBreaker::cut_after(*pair.b.network, kAtoB, 0);
  pair.a.network->send(on(kAtoB, content(5, 9)));
  expect_message(pair.b, 5, 9);
  EXPECT_GE(pair.a.network->counters(kAtoB).reconnects, 2u);
}

TEST(ReceiverDials, ASenderThatIsStartedAgainBeforeItsFirstMessageIsTakenForTheFirst) {
  TestNode b;
  NetworkOptions options = awaiting(0, {1}, slow(8e6));
  auto a = std::make_unique<TestNode>();
  start(*a, options);
  start(b, dialling(1, {0}));
  const std::string endpoint = a->network->bound_endpoint();
  b.network->dial(kAtoB, endpoint);
  ASSERT_TRUE(a->await<LinkUp>());
  NetworkBreaker::cut_after(*b.network, kAtoB, 2);  // some chunks of a message come, and no more
  a->network->send(on(kAtoB, content(3'000'000, 1)));
  ASSERT_TRUE(a->await<LinkDown>());
  a.reset();
  NetworkBreaker::cut_after(*b.network, kAtoB, 0);
  options.listen = endpoint;
  options.hello.incarnation = 500;
  options.outgoing[0].spec = {};
  TestNode again;
  start(again, options);
  again.network->send(on(kAtoB, content(1000, 2)));
  expect_message(b, 1000, 2);
}

// The receiver reads nothing at first. Seen to fail: a sender that leaves without waiting until the
// receiver has hung up.
TEST(ReceiverDials, WhatASenderSaysLastIsHeard) {
  TestNode a, b;
  start(a, awaiting(0, {1}));
  std::atomic<int> refusals{0};  // so many calls of b's sink find no room
  const EventSink sink = sink_into(b.events);
  auto network = Network::start(dialling(1, {0}), [&](NetworkEvent& event) {
    return refusals.load() > 0 && refusals.fetch_sub(1) > 0 ? false : sink(event);
  });
  ASSERT_TRUE(network.ok());
  b.network = std::move(*network);
  b.network->dial(kAtoB, a.network->bound_endpoint());
  ASSERT_TRUE(a.await<LinkUp>());
  ASSERT_TRUE(b.await<PeerArrived>());
  refusals = 1'000'000;
  a.network->send(on(kAtoB, content(2'000'000, 0)));
  a.network->send(SendBye{});
  auto leaving = std::async(std::launch::async, [&] {
    a.network->flush(kWaitMax);
    a.network.reset();
  });
  refusals = 300;  // about a millisecond each: long enough for a to leave, if it does not wait
  EXPECT_TRUE(b.await<PeerBye>());
  EXPECT_TRUE(b.await<MessageArrived>());
  b.network->flush(kWaitMax);
  leaving.get();
}

// Nothing is read at the sender while the receiver leaves, so that its words and the end of its
// connection come at once. Seen to fail: a sender that forgets a connection when it ends.
TEST(ReceiverDials, WhatAReceiverSaysLastIsHeard) {
  TestNode a, b;
  std::atomic<int> refusals{0};  // so many calls of a's sink find no room
  const EventSink sink = sink_into(a.events);
  auto network = Network::start(awaiting(0, {1}), [&](NetworkEvent& event) {
    return refusals.load() > 0 && refusals.fetch_sub(1) > 0 ? false : sink(event);
  });
  ASSERT_TRUE(network.ok());
  a.network = std::move(*network);
  start(b, dialling(1, {0}));
  b.network->dial(kAtoB, a.network->bound_endpoint());
  ASSERT_TRUE(a.await<LinkUp>());
  ASSERT_TRUE(b.await<PeerArrived>());
  a.network->send(on(kAtoB, content(1000, 0)));
  expect_message(b, 1000, 0);
  ASSERT_TRUE(a.await<MessageAcked>());
  refusals = 1'000'000;
  b.network->send(SendApplied{kAtoB, {1, 1, 1, Phase::kGather}});  // a has no room from here on
  b.network->send(SendHalt{HaltKind::kFailure, "disk full"});
  b.network->send(SendBye{});
  b.network->flush(kWaitMax);
  b.network.reset();
  refusals = 300;
  const auto halt = a.await<PeerHalted>();
  ASSERT_TRUE(halt);
  EXPECT_EQ(halt->reason, "disk full");
  EXPECT_TRUE(a.await<PeerBye>());
}

TEST(ReceiverDials, AHaltDoesNotWaitBehindData) {
  Reversed pair;
  ASSERT_TRUE(pair.a.await<LinkUp>());
  for (std::uint64_t i = 0; i < 20; ++i) pair.a.network->send(on(kAtoB, content(4'000'000, i)));
  pair.a.network->send(SendHalt{HaltKind::kFailure, "disk full"});
  EXPECT_EQ(pair.b.await<PeerHalted>()->reason, "disk full");
}

TEST(ReceiverDials, NodesThatDifferBothLearnIt) {
  NetworkOptions other = dialling(1, {0});
  other.hello.config_digest = 1;
  Reversed pair(awaiting(0, {1}), std::move(other));
  EXPECT_THAT(pair.b.await<LinkRefused>()->sentence, HasSubstr("the configs differ"));
  const auto refused = pair.a.await<PeerRefused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->node, NodeIndex{1});
}

// The topology says who dials, and its digest is compared; this is a far node gone wrong.
TEST(ReceiverDials, WhoDialsThoughItShouldNotIsRefused) {
  TestNode a, b;
  start(a, options_of(0, {1}, {}));
  start(b, dialling(1, {0}));
  b.network->dial(kAtoB, a.network->bound_endpoint());
  EXPECT_THAT(b.await<LinkRefused>()->sentence, HasSubstr("node b is unknown"));
  a.network->dial(kAtoB, b.network->bound_endpoint());
  EXPECT_THAT(a.await<LinkRefused>()->sentence, HasSubstr("node a is unknown"));
}

// Says hello as b, with these numbers of what it holds. Returns the first answer but heartbeats.
Frame answer_to(const std::string& endpoint, std::uint64_t delivered, std::uint16_t held) {
  RawClient b(endpoint);
  EXPECT_TRUE(b.greet());
  Hello hello = test_hello("b", 101);
  hello.to = "a";
  hello.from_receiver = true;
  hello.sender = 100;
  hello.delivered = delivered;
  hello.held = held;
  EXPECT_TRUE(b.frame(encode_frame(hello)));
  const auto bytes = b.next_frame();
  const auto frame = decode_frame(bytes);
  EXPECT_TRUE(frame.ok());
  return frame.ok() ? *frame : Frame(Heartbeat{});
}

TEST(ReceiverDials, AReceiverThatClaimsWhatItCannotHaveIsRefusedAndAnHonestOneIsServed) {
  TestNode a;
  start(a, awaiting(0, {1}));
  EXPECT_TRUE(std::holds_alternative<Refuse>(answer_to(a.network->bound_endpoint(), 7, 0)));
  EXPECT_THAT(a.await<PeerRefused>()->sentence, HasSubstr("not what kimesh sends"));
  EXPECT_TRUE(std::holds_alternative<Refuse>(answer_to(a.network->bound_endpoint(), 0, 3)));
  TestNode b;
  start(b, dialling(1, {0}));
  b.network->dial(kAtoB, a.network->bound_endpoint());
  a.network->send(on(kAtoB, content(1000, 1)));
  expect_message(b, 1000, 1);
}

TEST(ReceiverDials, ASenderThatDoesNotEndIsRefused) {
  constexpr std::size_t kFloodMax = 400'000'000;
  TestNode b;
  start(b, dialling(1, {0}));
  const RawServer server;
  b.network->dial(kAtoB, server.endpoint());
  RawClient a = server.accept();
  ASSERT_TRUE(a.greet("ROUTER"));
  ASSERT_FALSE(a.next_frame().empty());
  const std::vector<std::byte> part(60'000);
  std::size_t sent = 0;
  while (sent < kFloodMax && a.frame(part, true)) sent += part.size();
  EXPECT_LT(sent, kFloodMax);
  EXPECT_THAT(b.await<LinkRefused>()->sentence, HasSubstr("node a sends messages that do not end"));
}

struct Keys {
  CurvePair pairs[3] = {make_curve_pair(), make_curve_pair(), make_curve_pair()};
  [[nodiscard]] NetworkOptions with(NodeIndex key, NetworkOptions options) const {
    options.curve = CurveKeys{pairs[key], {}};
    for (NodeIndex i = 0; i < 3; ++i) options.curve->allowed[name_of(i)] = pairs[i].public_key;
    return options;
  }
};

TEST(ReceiverDials, WithKeysTheReceiverIsTheClientOfTheHandshake) {
  const Keys keys;
  Reversed pair(keys.with(0, awaiting(0, {1})), keys.with(1, dialling(1, {0})));
  for (std::uint64_t i = 0; i < 2; ++i) {
    pair.a.network->send(on(kAtoB, content(300'000, i)));
    expect_message(pair.b, 300'000, i);
    if (i == 0) NetworkBreaker::cut(*pair.a.network, kAtoB);
  }
}

TEST(ReceiverDials, WithKeysANameIsNotStolen) {
  const Keys keys;
  Reversed pair(keys.with(0, awaiting(0, {1})), keys.with(1, dialling(1, {0})));
  ASSERT_TRUE(pair.a.await<LinkUp>());
  TestNode c;
  start(c, keys.with(2, dialling(1, {0})));  // b's name, with the key of c
  c.network->dial(kAtoB, pair.a.network->bound_endpoint());
  EXPECT_THAT(c.await<LinkRefused>()->sentence, HasSubstr("with the key of node c"));
  pair.a.network->send(on(kAtoB, content(1000, 1)));
  expect_message(pair.b, 1000, 1);
}

}  // namespace
}  // namespace kimesh::receiver_dials_test
