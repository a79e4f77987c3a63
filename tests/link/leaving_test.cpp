// How nodes leave: what they said last is heard, though they are gone.
#include <atomic>
#include <future>
#include <new>
#include <thread>

#include "tests/link/network_fixture.h"

namespace kimesh::leaving_test {
namespace {

const LinkIndex kAtoB = link_of(0, 1);

// Nothing is read at a while b leaves, so that b's words and the end of its connection come at
// once. Seen to fail: a flush that does not wait until the far side has hung up.
TEST(Leaving, TheLastWordsOfANodeThatLeavesAreHeard) {
  TestNode a, b;
  start(b, options_of(1, {}, {0}));
  std::atomic<int> refusals{0};  // so many calls of a's sink find no room
  const EventSink sink = sink_into(a.events);
  auto network = Network::start(options_of(0, {1}, {}), [&](NetworkEvent& event) {
    return refusals.load() > 0 && refusals.fetch_sub(1) > 0 ? false : sink(event);
  });
  ASSERT_TRUE(network.ok());
  a.network = std::move(*network);
  a.network->dial(kAtoB, b.network->bound_endpoint());
  ASSERT_TRUE(a.await<LinkUp>());
  refusals = 1'000'000;
  b.network->send(
      SendApplied{kAtoB, {1, 1, 1, Phase::kGather}});  // what a has no room for: it reads no more
  b.network->send(SendHalt{HaltKind::kFailure, "disk full"});
  b.network->send(SendBye{});
  auto leaving = std::async(std::launch::async, [&] {
    b.network->flush(kWaitMax);
    b.network.reset();
  });
  refusals = 300;  // about a millisecond each: long enough for b to leave, if it does not wait
  const auto halt = a.await<PeerHalted>();
  ASSERT_TRUE(halt);
  EXPECT_EQ(halt->reason, "disk full");
  EXPECT_TRUE(a.await<PeerBye>());
  a.network->flush(kWaitMax);
  leaving.get();
}

// Nothing is read at a while b refuses it and leaves. Seen to fail: a flush that waits only for
// those who were welcome.
TEST(Leaving, ANodeThatLeavesWaitsUntilWhomItRefusedKnowsWhy) {
  TestNode a, b;
  start(b, options_of(1, {}, {0}));
  NetworkOptions options = options_of(0, {1, 2}, {});
  options.hello.config_digest = 1;
  std::atomic<int> refusals{1'000'000};  // so many calls of a's sink find no room
  const EventSink sink = sink_into(a.events);
  auto network = Network::start(options, [&](NetworkEvent& event) {
    return refusals.load() > 0 && refusals.fetch_sub(1) > 0 ? false : sink(event);
  });
  ASSERT_TRUE(network.ok());
  a.network = std::move(*network);
  a.network->dial(link_of(0, 2), "nonsense");  // the event for which there is no room
  a.network->dial(kAtoB, b.network->bound_endpoint());
  ASSERT_TRUE(b.await<PeerRefused>());
  auto leaving = std::async(std::launch::async, [&] {
    b.network->flush(kWaitMax);
    b.network.reset();
  });
  refusals = 300;  // about a millisecond each: long enough for b to leave, if it does not wait
  const auto refused = a.await<LinkRefused>();
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->sentence, testing::HasSubstr("the configs differ"));
  a.network->flush(kWaitMax);
  leaving.get();
}

// Seen to fail: sockets without a linger after a flush (hangs).
TEST(Leaving, AFlushedByeArrivesThoughTheSenderEndsAtOnce) {
  for (int time = 0; time < 5; ++time) {
    Pair pair;
    ASSERT_TRUE(pair.a.await<LinkUp>());
    pair.a.network->send(on(kAtoB, content(2'000'000, 0)));
    pair.a.network->send(SendBye{});
    pair.a.network->flush(kWaitMax);
    pair.a.network.reset();
    EXPECT_TRUE(pair.b.await<PeerBye>());
    EXPECT_TRUE(pair.b.await<MessageArrived>());
  }
}

// Its sink throws on the network's thread. Seen to fail: the exception not guarded (the process
// ends); the sink asked again, which throws in every pass before a halt goes out.
TEST(Leaving, ANodeWhoseNetworkThreadThrowsStillSaysTheEnd) {
  TestNode a, b;
  Thrown thrown;
  NetworkOptions options = options_of(1, {}, {0});
  options.thrown = &thrown;
  auto network = Network::start(std::move(options), [](NetworkEvent& event) -> bool {
    if (std::holds_alternative<MessageArrived>(event)) throw std::bad_alloc();
    return true;
  });
  ASSERT_TRUE(network.ok());
  b.network = std::move(*network);
  start(a, options_of(0, {1}, {}));
  a.network->dial(kAtoB, b.network->bound_endpoint());
  ASSERT_TRUE(a.await<LinkUp>());
  a.network->send(on(kAtoB, content(100, 1)));
  while (thrown.is_empty()) std::this_thread::yield();
  EXPECT_EQ(thrown.text(), "talking to other nodes: no memory is left (std::bad_alloc)");
  b.network->send(SendHalt{HaltKind::kFailure, *thrown.text()});
  const auto halt = a.await<PeerHalted>();
  ASSERT_TRUE(halt);
  EXPECT_EQ(halt->reason, *thrown.text());
  static_cast<void>(b.network->counters());  // answered, or known to come no more
}

}  // namespace
}  // namespace kimesh::leaving_test
