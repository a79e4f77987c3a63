// A way between two nodes that is dead while the way back is alive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/compress/codecs.h"
#include "tests/link/relay.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::one_way_test {
namespace {

using testing::HasSubstr;

// Before: it never ended. Seen to fail: life by node alone.
TEST(LiveOneWay, EndsWithASentenceThatNamesTheLink) {
  MeshSpec spec;
  spec.nodes = 2;
  spec.dimension = 400;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.stop_rounds = 1000000;
  Mesh mesh(spec);
  mesh.topology.dead_after = std::chrono::seconds(2);
  Relay relay;
  mesh.topology.nodes[1].dial = relay.address();
  LiveOptions options;
  options.on_addresses = [&] { relay.lead_to(mesh.topology.nodes[1].address); };
  options.on_round = [&](NodeIndex node, Round round) {
    if (node == 0 && round == 5) relay.block();
  };
  const LiveRun run = run_live(mesh, options);
  for (const auto& end : run.ends) {
    ASSERT_TRUE(end) << run.text();
    EXPECT_EQ(end->outcome, Outcome::kFailed);
    EXPECT_THAT(end->text, HasSubstr("link n0->n1 has been silent for")) << run.text();
  }
}

}  // namespace
}  // namespace kimesh::test::one_way_test
