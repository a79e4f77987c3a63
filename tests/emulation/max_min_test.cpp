#include "kimesh/emulation/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kimesh/util/random.h"

namespace kimesh::max_min_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> shares(const std::vector<Flow>& flows, const std::vector<double>& capacity) {
  std::vector<double> rates(flows.size());
  max_min_shares(flows, capacity, rates);
  return rates;
}

TEST(MaxMinShares, SplitsOneCapacityEvenlyAndHandsOnWhatACappedFlowLeaves) {
  const std::array<std::uint32_t, 2> uplink{0, kNoGroup};
  EXPECT_EQ(shares({{kInfinity, uplink}, {kInfinity, uplink}}, {10}), (std::vector<double>{5, 5}));
  EXPECT_EQ(shares({{2, uplink}, {kInfinity, uplink}, {9, uplink}}, {10}),
            (std::vector<double>{2, 4, 4}));
  EXPECT_EQ(shares({{2, uplink}, {3, uplink}}, {10}), (std::vector<double>{2, 3}));
}

TEST(MaxMinShares, FillsTwoCapacitiesThatAFlowCrosses) {
  // Uplinks 0 (10) and 1 (10), downlink 2 (6): the downlink holds two at 3, the third takes the
  // rest.
  EXPECT_EQ(
      shares({{kInfinity, {0, 2}}, {kInfinity, {1, 2}}, {kInfinity, {1, kNoGroup}}}, {10, 10, 6}),
      (std::vector<double>{3, 3, 7}));
}

TEST(MaxMinShares, LeavesUnboundedFlowsUnboundedAndStopsAtNothing) {
  EXPECT_EQ(shares({{kInfinity, {kNoGroup, kNoGroup}}, {4, {kNoGroup, kNoGroup}}}, {}),
            (std::vector<double>{kInfinity, 4}));
  EXPECT_EQ(shares({{kInfinity, {0, kNoGroup}}}, {kInfinity}), (std::vector<double>{kInfinity}));
  EXPECT_EQ(shares({{5, {0, kNoGroup}}, {0, {kNoGroup, kNoGroup}}}, {0}),
            (std::vector<double>{0, 0}));
  EXPECT_TRUE(shares({}, {3}).empty());
}

// The definition: nobody can have more without taking from one who has no more than he.
// Seen to fail when a settled flow took a fixed part of its groups instead of its rate.
TEST(MaxMinShares, GivesEveryFlowABottleneckOverRandomMeshes) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    std::vector<double> capacity(1 + random.below(6));
    for (double& value : capacity) value = 1 + 9 * random.uniform();
    const auto group = [&] {
      const std::uint32_t drawn = random.below(static_cast<std::uint32_t>(capacity.size()) + 1);
      return drawn == capacity.size() ? kNoGroup : drawn;
    };
    std::vector<Flow> flows(1 + random.below(12));
    for (Flow& flow : flows) {
      flow = {random.below(3) == 0 ? kInfinity : 4 * random.uniform(), {group(), group()}};
      if (flow.groups[0] == flow.groups[1]) flow.groups[1] = kNoGroup;
      if (flow.groups[0] == kNoGroup && std::isinf(flow.cap)) flow.cap = 1;
    }
    const std::vector<double> rates = shares(flows, capacity);
    std::vector<double> used(capacity.size()), highest(capacity.size());
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const std::uint32_t g : flows[i].groups)
        if (g != kNoGroup) {
          used[g] += rates[i];
          highest[g] = std::max(highest[g], rates[i]);
        }
    for (std::size_t g = 0; g < capacity.size(); ++g) EXPECT_LE(used[g], capacity[g] + 1e-9);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      bool held = rates[i] == flows[i].cap;
      for (const std::uint32_t g : flows[i].groups)
        held |= g != kNoGroup && used[g] > capacity[g] - 1e-9 && rates[i] > highest[g] - 1e-9;
      EXPECT_TRUE(held) << "flow " << i << " could have more";
    }
  }
}

}  // namespace
}  // namespace kimesh::max_min_test
