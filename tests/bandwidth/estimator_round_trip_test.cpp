// LinkEstimator, told the round trip of an empty packet by the link's connection.
#include <gtest/gtest.h>

#include "kimesh/bandwidth/estimator.h"
#include "tests/bandwidth/emulated_link.h"

namespace kimesh::estimator_round_trip_test {
namespace {

// 1.3 of 41.3 ms are transfer. The rate is a bound all the same, since a part of these may be
// another fixed cost. Seen to fail where the round trip was a part of what the fit had to find.
TEST(LinkEstimator, KnowsTheRateBesideARoundTripThatIsTold) {
  constexpr double kRate = 12.5e6, kRoundTrip = 0.04;  // bytes/s, seconds
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    EmulatedLink link(seed);
    link.bytes_per_s = kRate;
    link.rtt_s = kRoundTrip;
    link.hiccup_chance = 0;
    LinkEstimator estimator;
    for (int i = 0; i < 60; ++i) {
      LinkSample sample = link.send(16'384);
      sample.round_trip = from_seconds(kRoundTrip);
      estimator.add(sample);
      const LinkEstimate estimate = estimator.estimate();
      ASSERT_GT(estimate.bytes_per_s, kRate / 2) << "seed " << seed << ", message " << i;
      ASSERT_LT(estimate.bytes_per_s, 1.2 * kRate) << "seed " << seed << ", message " << i;
      ASSERT_NEAR(to_seconds(estimate.fixed_cost), kRoundTrip, 0.001) << "seed " << seed;
      ASSERT_TRUE(estimate.lower_bound);
    }
  }
}

}  // namespace
}  // namespace kimesh::estimator_round_trip_test
