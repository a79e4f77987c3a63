// LinkEstimator, told the round trip of an empty packet by the link's connection.
#include <gtest/gtest.h>

#include "kimesh/bandwidth/estimator.h"
#include "tests/bandwidth/emulated_link.h"

namespace kimesh::estimator_round_trip_test {
namespace {

constexpr double kRate = 12.5e6, kRoundTrip = 0.04;  // bytes/s, seconds
constexpr std::uint64_t kSeeds = 30;
constexpr int kMessages = 60;

EmulatedLink long_link(std::uint64_t seed) {
  EmulatedLink link(seed);
  link.bytes_per_s = kRate;
  link.rtt_s = kRoundTrip;
  link.hiccup_chance = 0;
  return link;
}

// 0.3 of 40.3 ms or 1.3 of 41.3 are transfer. The rate is a bound all the same, since a part of
// these may be another fixed cost; stamps are late by 0.2 ms, so that a short transfer seems
// longer. The connection does not know its round trip any more from the middle on. Seen to fail
// where the round trip was a part of what the fit had to find, where one that is not known was
// taken for none, and where a transfer counted as a twentieth of the message's time at least.
TEST(LinkEstimator, KnowsTheRateBesideARoundTripThatIsTold) {
  struct Case {
    std::size_t bytes;
    double least_share;  // of the rate
  };
  for (const Case& c : {Case{4'096, 0.3}, Case{16'384, 0.6}})
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      EmulatedLink link = long_link(seed);
      LinkEstimator estimator;
      for (int i = 0; i < kMessages; ++i) {
        LinkSample sample = link.send(c.bytes);
        sample.round_trip = from_seconds(i < kMessages / 2 ? kRoundTrip : 0);
        estimator.add(sample);
        const LinkEstimate estimate = estimator.estimate();
        ASSERT_GT(estimate.bytes_per_s, c.least_share * kRate)
            << c.bytes << " bytes, seed " << seed << ", message " << i;
        ASSERT_LT(estimate.bytes_per_s, 1.2 * kRate)
            << c.bytes << " bytes, seed " << seed << ", message " << i;
        ASSERT_NEAR(to_seconds(estimate.fixed_cost), kRoundTrip, 0.001) << "seed " << seed;
        ASSERT_TRUE(estimate.lower_bound);
      }
    }
}

// A transfer of 8 to 24 ms beside 40 ms does not fill the pipe: what seems to be the rate may be
// windows that a connection sends once in a round trip. Seen to fail where the transfer was
// compared with the rest of the fixed cost alone.
TEST(LinkEstimator, SaysALowerBoundWhileARoundTripThatIsToldOutweighsTheTransfer) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EmulatedLink link = long_link(seed);
    LinkEstimator estimator;
    for (int i = 0; i < kMessages; ++i) {
      LinkSample sample = link.send(100'000 + link.random.below(200'000));
      sample.round_trip = from_seconds(kRoundTrip);
      estimator.add(sample);
      ASSERT_TRUE(estimator.estimate().lower_bound) << "seed " << seed << ", message " << i;
    }
  }
}

}  // namespace
}  // namespace kimesh::estimator_round_trip_test
