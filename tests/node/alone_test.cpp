// Whether a node has heard another one of its mesh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "kimesh/compress/codecs.h"
#include "tests/link/network_fixture.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::alone_test {
namespace {

using testing::HasSubstr;

MeshSpec ring() {
  MeshSpec spec;
  spec.nodes = 3;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.2"}}), make_codec("topk")};
  spec.core.stop_rounds = 5;
  return spec;
}

// Somebody says the name of n1, and has none of the mesh's files. Seen to fail: whoever was refused
// counted as another node.
TEST(LiveAlone, WhoIsRefusedWithoutProofIsNoOtherNode) {
  Mesh mesh(ring());
  std::atomic<bool> stop = false;
  TestNode stranger;
  LiveOptions options;
  options.absent = {1, 2};
  options.stops = {&stop, nullptr, nullptr};
  options.on_addresses = [&] { start(stranger, options_of_impostor(mesh, 1)); };
  std::string refusal;
  options.on_setup = [&](NodeIndex, LiveNodeSetup&, LiveNodeObserver& observer) {
    observer.notice = [&](TimePoint, const std::string& text) {
      if (text.find("refuses node n1") == std::string::npos) return ok_status();
      refusal = text;
      stop = true;
      return ok_status();
    };
  };
  const LiveRun run = run_live(mesh, options);
  ASSERT_TRUE(run.ends[0]) << run.text();
  EXPECT_THAT(refusal, HasSubstr("give both nodes the same topology file"));
  EXPECT_TRUE(run.ends[0]->was_alone);
}

TEST(LiveAlone, NobodyIsWhoHasTrained) {
  Mesh mesh(ring());
  const LiveRun run = run_live(mesh);
  ASSERT_TRUE(run.done()) << run.text();
  for (const auto& end : run.ends) EXPECT_FALSE(end->was_alone);
}

}  // namespace
}  // namespace kimesh::test::alone_test
