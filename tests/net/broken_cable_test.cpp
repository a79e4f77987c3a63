// Cables that break while they carry messages: connections that are cut, packets that vanish for a
// while, and for good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/compress/codecs.h"
#include "tests/cannot_run.h"
#include "tests/link/break_connection.h"
#include "tests/netns/shaped_pair.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::broken_cable_test {
namespace {

// Drops what is larger than a bare answer of TCP, and lets one of those pass a minute.
constexpr Bucket kBlackHole{8, 100};

// A message of two seconds, in eight chunks. Seen to fail: Outbox::resume at the message's start.
TEST(BrokenCable, AConnectionThatIsCutEveryThirdOfAMessagesTimeDeliversIt) {
  constexpr std::size_t kBytes = 250'000;
  constexpr unsigned kChunks = 3;
  auto pair = ShapedPair::make({1e6});
  if (!pair) return cannot_run(pair.error().message);
  NetworkBreaker::cut_after((*pair)->b(), ShapedPair::kLink, kChunks);
  for (int i = 0; i < 2; ++i) (*pair)->send(kBytes);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE((*pair)->at_b<MessageArrived>());
  EXPECT_GE((*pair)->counters().reconnects, 2 * chunk_count(kBytes) / kChunks - 2);
}

// Each time a part of the message has passed, all packets vanish both ways, for as long as it takes
// to say so some times.
TEST(BrokenCable, AWayThatFlapsDeliversWhatItCarries) {
  const Bucket whole{4e6};
  auto pair = ShapedPair::make(whole);
  if (!pair) return cannot_run(pair.error().message);
  (*pair)->send(1'000'000);
  for (std::uint64_t flap = 1; flap <= 4; ++flap) {
    while ((*pair)->counters().tcp_bytes_sent < flap * 200'000) {
    }
    for (int again = 0; again < 20; ++again) ASSERT_TRUE((*pair)->shape(kBlackHole).ok());
    ASSERT_TRUE((*pair)->shape(whole).ok());
  }
  const auto got = (*pair)->at_b<MessageArrived>();
  ASSERT_TRUE(got);
  EXPECT_EQ(message_bytes(got->message.payload.size(), 0), 1'000'000u);
}

// No packet passes between n0 and n1 any more, and none says so.
TEST(BrokenCable, ABlackHoleEndsARunByTheNameOfWhoIsBehindIt) {
  auto cables = ShapedMesh::make(3, [](NodeIndex, NodeIndex) { return Bucket{10e6}; });
  if (!cables) return cannot_run(cables.error().message);
  MeshSpec spec;
  spec.nodes = 3;
  spec.dimension = 3000;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.stop_rounds = 1'000'000;
  Mesh mesh(spec);
  mesh.topology.dead_after = std::chrono::seconds(2);
  LiveOptions options;
  for (NodeIndex i = 0; i < 3; ++i) options.hosts.push_back("tcp://" + cables->address(i));
  options.place = [&](NodeIndex node, const std::function<void()>& work) {
    cables->at(node).inside(work);
  };
  options.on_round = [&](NodeIndex node, Round round) {
    if (node != 2 || round != 5) return;
    EXPECT_TRUE(cables->shape(0, 1, kBlackHole).ok());
    EXPECT_TRUE(cables->shape(1, 0, kBlackHole).ok());
  };
  const LiveRun run = run_live(mesh, options);
  for (const auto& end : run.ends) {
    ASSERT_TRUE(end) << run.text();
    EXPECT_EQ(end->outcome, Outcome::kFailed);
    EXPECT_THAT(end->text, testing::ContainsRegex("node n[01] has been silent for")) << run.text();
  }
}

}  // namespace
}  // namespace kimesh::test::broken_cable_test
