#include "kimesh/run/options.h"

#include <gtest/gtest.h>

#include "tests/settings.h"
#include "tests/shipped.h"

namespace kimesh::options_test {
namespace {

// Seen to fail where a topology that gives numbers is not asked.
TEST(Options, LeaveNodesTheLocalStepsThatAreWritten) {
  TopologyFile topology = load_topology(test::shipped_path("ps4")).value;
  RunConfig config;
  config.quadratic.emplace();
  config.compression = compression_options({{"policy", "auto"}});
  const auto chooses = [&] { return core_options(config, topology, 0, 0.25).chooses_multiples; };
  EXPECT_TRUE(chooses());
  topology.nodes[2].local_steps = 1;
  EXPECT_FALSE(chooses());
  topology.nodes[2].local_steps.reset();
  EXPECT_TRUE(chooses());
  config.compression = compression_options({{"policy", "auto"}, {"local_steps", "2"}});
  EXPECT_FALSE(chooses());
}

}  // namespace
}  // namespace kimesh::options_test
