// Bytes of a frame that is on its way are a sign of life of its sender, and others are none.
#include "src/link/arriving_bytes.h"

#include <gtest/gtest.h>

#include "tests/link/relayed.h"

namespace kimesh::arriving_bytes_test {
namespace {

constexpr Duration kHeartbeat = std::chrono::seconds(1);

// Looks once a heartbeat at what a connection has brought, from its first frame on.
struct Looks {
  ArrivingBytes arriving;
  TimePoint now{};
  Looks() { arriving.frame(now); }
  bool at(std::uint64_t received) {
    EXPECT_EQ(arriving.next_look(kHeartbeat), now + kHeartbeat);
    return arriving.look(received, now += kHeartbeat);
  }
};

// Seen to fail: the bytes before the first look counted.
TEST(ArrivingBytes, AreASignOfLifeEachTimeThatEnoughHaveCome) {
  Looks looks;
  EXPECT_FALSE(looks.at(50'000)) << "they may have come before the last frame";
  EXPECT_FALSE(looks.at(50'000 + kSignBytes - 1));
  EXPECT_TRUE(looks.at(50'000 + kSignBytes));
  EXPECT_FALSE(looks.at(50'000 + kSignBytes)) << "no new ones";
  EXPECT_TRUE(looks.at(50'000 + 2 * kSignBytes));
}

// Seen to fail: bytes compared with those of the first look.
TEST(ArrivingBytes, OfAStreamThatHasStoppedAreNone) {
  Looks looks;
  EXPECT_FALSE(looks.at(0));
  EXPECT_TRUE(looks.at(100'000));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(looks.at(100'000));
}

// An honest peer's frame is whole before. Seen to fail: no bound.
TEST(ArrivingBytes, CountForOneFrameOfAnHonestPeerAndForNoMore) {
  Looks looks;
  int signs = 0;
  for (std::uint64_t received = 0; received < 10 * kChunkFrameBytesMax; received += kSignBytes)
    signs += looks.at(received) ? 1 : 0;
  EXPECT_EQ(static_cast<std::uint64_t>(signs), kChunkFrameBytesMax / kSignBytes);
  looks.arriving.frame(looks.now);
  EXPECT_FALSE(looks.at(10 * kChunkFrameBytesMax));
  EXPECT_TRUE(looks.at(10 * kChunkFrameBytesMax + kSignBytes));
}

// Where TCP's figures are unknown they are 0.
TEST(ArrivingBytes, ThatAreUnknownAreNone) {
  Looks looks;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(looks.at(0));
}

// Whether the next event is a sign of life. The first look after a frame finds none, so that the
// wait may end without one.
bool hears_soon(TestNode& node) {
  const auto event = node.events.pop_for(std::chrono::seconds(2));
  return event && std::holds_alternative<PeerHeard>(*event);
}

// No chunk is whole when the last sign has come.
void expect_signs_within_a_chunk(const Dialling& dialling) {
  constexpr std::ptrdiff_t kStep = 2 * kSignBytes;
  constexpr std::size_t kSteps = kChunkBytesMax / kStep - 1;
  constexpr std::size_t kBytes = kChunksPerMessage * kChunkBytesMax - 1000;
  Relayed link(dialling);
  ASSERT_TRUE(link.a.await<LinkUp>() && link.b.await<PeerArrived>());
  const Relay::Way to_b = dialling.receiver_dials ? Relay::Way::kBack : Relay::Way::kThere;
  link.relay.stint(to_b, 0);
  link.send(kBytes, 1);
  std::size_t signs = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    link.relay.stint(to_b, kStep);
    signs += hears_soon(link.b) ? 1 : 0;
  }
  EXPECT_GT(signs, kSteps / 2);
  link.relay.stint(to_b, Relay::kNoStint);
  link.expect_arrival(kBytes, 1);
}

// Seen to fail: no looks.
TEST(ArrivingBytes, OfAChunkAreHeardBeforeItIsWhole) {
  for (const Dialling& dialling : {Dialling{false, false}, Dialling{true, true}}) {
    SCOPED_TRACE(testing::Message() << dialling.receiver_dials << dialling.encrypted);
    expect_signs_within_a_chunk(dialling);
  }
}

}  // namespace
}  // namespace kimesh::arriving_bytes_test
