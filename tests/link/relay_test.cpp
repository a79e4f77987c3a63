// Links through a relay that cuts connections at any byte, and delays what it passes on.
#include "tests/link/relay.h"

#include <cstdlib>
#include <future>

#include "kimesh/util/random.h"
#include "tests/link/relayed.h"

namespace kimesh::relay_test {
namespace {

// By hand, with every byte: KIMESH_CUTS=all build/release/link_test --gtest_filter=Relay*
bool cuts_everywhere() {
  const char* cuts = std::getenv("KIMESH_CUTS");
  return cuts != nullptr && std::string(cuts) == "all";
}

struct Cut {
  Relay::Way way;
  Dialling dialling;
};

// The first connection is cut at its first byte, the next ones later and later, until one holds all
// of the handshake and of a message of 1 KB. Seen to fail: a resume one message too far on; no word
// to the core of messages whose acks a cut had lost.
TEST(Relay, AConnectionCutAtAnyByteOfItsHandshakeOrMessageIsMadeAgain) {
  const std::size_t step = cuts_everywhere() ? 1 : 23;
  for (const Cut& cut :
       {Cut{Relay::Way::kThere, {false, false}}, Cut{Relay::Way::kBack, {false, false}},
        Cut{Relay::Way::kThere, {true, false}}, Cut{Relay::Way::kBack, {true, false}},
        Cut{Relay::Way::kThere, {false, true}}, Cut{Relay::Way::kBack, {false, true}}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(cut.way) << cut.dialling.receiver_dials
                                    << cut.dialling.encrypted);
    Relayed link(cut.dialling, {}, {cut.way, 1, step});
    for (std::uint64_t i = 0; i < 3; ++i) link.expect_delivery(1000, i);
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
                  {random.below(2) == 0, false}};
    const std::chrono::milliseconds delay(random.below(101));
    const std::size_t first = 1 + random.below(400), step = 200 + random.below(200);
    Relayed link(cut.dialling, delay, {cut.way, first, step});
    for (std::uint64_t i = 0; i < 3; ++i) link.expect_delivery(1000, i);
  }
}

// Seen to fail with keys: a halt behind chunks that ZeroMQ had yet to encrypt.
TEST(Relay, AHaltIsHeardAtARoundTripOf200MsBesideFullQueues) {
  constexpr std::chrono::milliseconds kOneWay{100};
  for (const bool receiver_dials : {false, true})
    for (const bool encrypted : {false, true}) {
      SCOPED_TRACE(testing::Message() << receiver_dials << encrypted);
      Relayed link({receiver_dials, encrypted}, kOneWay);
      ASSERT_TRUE(link.a.await<LinkUp>());
      for (std::uint64_t i = 0; i < 20; ++i) link.send(4'000'000, i);
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
