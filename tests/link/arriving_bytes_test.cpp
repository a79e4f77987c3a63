// Bytes of a frame that is on its way are a sign of life of its sender, and others are none.
#include "src/link/arriving_bytes.h"

#include <gtest/gtest.h>

#include "tests/link/network_fixture.h"
#include "tests/link/relay.h"

namespace kimesh::arriving_bytes_test {
namespace {

constexpr Duration kHeartbeat = std::chrono::seconds(1);
const LinkIndex kAtoB = link_of(0, 1);

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

struct Way {
  bool receiver_dials, encrypted;
};

// Whether a sign comes within two heartbeats. None may: a look that follows a frame finds none.
bool hears_soon(TestNode& node) {
  const auto event = node.events.pop_for(std::chrono::seconds(2));
  return event && std::holds_alternative<PeerHeard>(*event);
}

// No chunk is whole when the last sign has come.
void expect_signs_within_a_chunk(const Way& way) {
  constexpr std::ptrdiff_t kStep = 2 * kSignBytes;
  constexpr std::size_t kSteps = kChunkBytesMax / kStep - 1;
  TestNode a, b;
  Relay relay;
  NetworkOptions of_a = options_of(0, {1}, {}), of_b = options_of(1, {}, {0});
  of_a.outgoing[0].awaits = of_b.incoming[0].dials = way.receiver_dials;
  if (way.encrypted) {
    const CurvePair keys[] = {make_curve_pair(), make_curve_pair()};
    of_a.curve = CurveKeys{keys[0], {{"a", keys[0].public_key}, {"b", keys[1].public_key}}};
    of_b.curve = CurveKeys{keys[1], of_a.curve->allowed};
  }
  start(a, std::move(of_a));
  start(b, std::move(of_b));
  TestNode &dialling = way.receiver_dials ? b : a, &listening = way.receiver_dials ? a : b;
  relay.lead_to(listening.network->bound_endpoint());
  dialling.network->dial(kAtoB, relay.address());
  ASSERT_TRUE(a.await<LinkUp>() && b.await<PeerArrived>());
  const Relay::Way to_b = way.receiver_dials ? Relay::Way::kBack : Relay::Way::kThere;
  relay.stint(to_b, 0);
  const auto payload = content(kChunksPerMessage * kChunkBytesMax - 1000, 1);
  a.network->send(on(kAtoB, payload));
  std::size_t signs = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    relay.stint(to_b, kStep);
    signs += hears_soon(b) ? 1 : 0;
  }
  EXPECT_GT(signs, kSteps / 2);
  relay.stint(to_b, Relay::kNoStint);
  const auto got = b.await<MessageArrived>();
  ASSERT_TRUE(got);
  EXPECT_EQ(payload_of(*got), payload);
}

// Seen to fail: no looks.
TEST(ArrivingBytes, OfAChunkAreHeardBeforeItIsWhole) {
  for (const Way& way : {Way{false, false}, Way{true, true}}) {
    SCOPED_TRACE(testing::Message() << way.receiver_dials << way.encrypted);
    expect_signs_within_a_chunk(way);
  }
}

}  // namespace
}  // namespace kimesh::arriving_bytes_test
