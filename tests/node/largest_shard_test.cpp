// The largest shard that a plan has, and the message that carries it.
#include <gtest/gtest.h>

#include <limits>

#include "kimesh/round/core.h"
#include "kimesh/wire/frame.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test::largest_shard_test {
namespace {

// Seen to fail: the head and the records of a message were left out of the 32 bits of its length,
// which a link checks when the first message of such a shard is sent.
TEST(LargestShard, HasAMessageWhoseLengthALinkCanTell) {
  const TopologyFile topology = make_topology("parameter_server", 2, {0});
  std::size_t fits = 1, fails = std::size_t{1} << 32;
  while (fails - fits > 1) {
    const std::size_t middle = fits + (fails - fits) / 2;
    (make_plan(topology, Layout::vector(middle)).ok() ? fits : fails) = middle;
  }
  EXPECT_GT(fits, 1'000'000'000u);
  const Result<Plan> plan = make_plan(topology, Layout::vector(fits));
  ASSERT_TRUE(plan.ok());
  for (ChannelIndex c = 0; c < plan->channels.size(); ++c)
    EXPECT_LE(payload_bytes_max(*plan, c) + kBesidePayloadBytesMax,
              std::numeric_limits<std::uint32_t>::max());
}

}  // namespace
}  // namespace kimesh::test::largest_shard_test
