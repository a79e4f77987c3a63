// Links through a relay that cuts connections at any byte, and delays what it passes on.
#include "tests/link/relay.h"

#include <cstdlib>
#include <future>

#include "kimesh/util/random.h"
#include "tests/link/network_fixture.h"

namespace kimesh::relay_test {
namespace {

const LinkIndex kAtoB = link_of(0, 1);

// By hand, with every byte: KIMESH_CUTS=all build/release/link_test --gtest_filter=Relay*
bool cuts_everywhere() {
  const char* cuts = std::getenv("KIMESH_CUTS");
  return cuts != nullptr && std::string(cuts) == "all";
}

struct Cut {
  Relay::Way way;
  bool receiver_dials, encrypted;
};

// a -> b; the end that dials does so through a relay.
struct Relayed {
  TestNode a, b;
  Relay relay;
  Relayed(const Cut& cut, std::chrono::milliseconds delay, std::size_t first, std::size_t step)
      : relay(delay) {
    relay.cut_at(cut.way, first, step);
    NetworkOptions of_a = options_of(0, {1}, {}), of_b = options_of(1, {}, {0});
    of_a.redial = of_b.redial = std::chrono::milliseconds(1);
    of_a.outgoing[0].awaits = of_b.incoming[0].dials = cut.receiver_dials;
    if (cut.encrypted) {
      const CurvePair keys[] = {make_curve_pair(), make_curve_pair()};
      of_a.curve = CurveKeys{keys[0], {{"a", keys[0].public_key}, {"b", keys[1].public_key}}};
      of_b.curve = CurveKeys{keys[1], of_a.curve->allowed};
    }
    start(a, std::move(of_a));
    start(b, std::move(of_b));
    TestNode &dialling = cut.receiver_dials ? b : a, &listening = cut.receiver_dials ? a : b;
    relay.lead_to(listening.network->bound_endpoint());
    dialling.network->dial(kAtoB, relay.address());
  }
  void expect(std::size_t size, std::uint64_t salt) {
    a.network->send(on(kAtoB, content(size, salt)));
    const auto got = b.await<MessageArrived>();
    ASSERT_TRUE(got);
    EXPECT_EQ(payload_of(*got), content(size, salt));
    EXPECT_TRUE(a.await<MessageAcked>());
  }
};

// The first connection is cut at its first byte, the next ones later and later, until one holds all
// of the handshake and of a message of 1 KB. Seen to fail: a resume one message too far on; no word
// to the core of messages whose acks a cut had lost.
TEST(Relay, AConnectionCutAtAnyByteOfItsHandshakeOrMessageIsMadeAgain) {
  const std::size_t step = cuts_everywhere() ? 1 : 23;
  for (const Cut& cut :
       {Cut{Relay::Way::kThere, false, false}, Cut{Relay::Way::kBack, false, false},
        Cut{Relay::Way::kThere, true, false}, Cut{Relay::Way::kBack, true, false},
        Cut{Relay::Way::kThere, false, true}, Cut{Relay::Way::kBack, false, true}}) {
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(cut.way) << cut.receiver_dials << cut.encrypted);
    Relayed link(cut, {}, 1, step);
    for (std::uint64_t i = 0; i < 3; ++i) link.expect(1000, i);
    EXPECT_GT(link.relay.connections(), 200 / step) << "else nothing was cut";
  }
}

// Seen to fail: no new socket where ZeroMQ dials no more.
TEST(Relay, CutsOnAWayOf200MsThereAndBackLoseNothing) {
  const std::uint64_t seeds = cuts_everywhere() ? 40 : 2;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, 0, 0, Purpose::kTest);
    const Cut cut{random.below(2) == 0 ? Relay::Way::kThere : Relay::Way::kBack,
                  random.below(2) == 0, false};
    const std::chrono::milliseconds delay(random.below(101));
    Relayed link(cut, delay, 1 + random.below(400), 200 + random.below(200));
    for (std::uint64_t i = 0; i < 3; ++i) link.expect(1000, i);
  }
}

// Seen to fail with keys: a halt behind chunks that ZeroMQ had yet to encrypt.
TEST(Relay, AHaltIsHeardAtARoundTripOf200MsBesideFullQueues) {
  constexpr std::chrono::milliseconds kOneWay{100};
  for (const bool receiver_dials : {false, true})
    for (const bool encrypted : {false, true}) {
      SCOPED_TRACE(testing::Message() << receiver_dials << encrypted);
      Relayed link({Relay::Way::kThere, receiver_dials, encrypted}, kOneWay, 0, 0);
      ASSERT_TRUE(link.a.await<LinkUp>());
      for (std::uint64_t i = 0; i < 20; ++i) link.a.network->send(on(kAtoB, content(4'000'000, i)));
      ASSERT_TRUE(link.b.await<MessageArrived>());
      link.a.network->send(SendHalt{HaltKind::kFailure, "disk full"});
      const auto leaving = std::async(std::launch::async, [&link] {
        link.a.network->flush(kWaitMax);
        link.a.network.reset();
      });
      const auto halted = link.b.await<PeerHalted>();
      link.b.network.reset();
      ASSERT_TRUE(halted);
      EXPECT_EQ(halted->reason, "disk full");
    }
}

}  // namespace
}  // namespace kimesh::relay_test
