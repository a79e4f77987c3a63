// The closed loop of estimator and budget behind token buckets that drain between messages: rounds
// take what was planned. All in virtual time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/quadratic_mesh/round_times.h"

namespace kimesh::test {
namespace {

constexpr double kMbit = 1e6;
// Took / plan, median and 95th percentile.
constexpr double kMedianMax = 1.08, kP95Max = 1.25;
constexpr std::size_t kRoundsToFollowMax = 3;

std::vector<SlowLinks> cases() {
  std::vector<SlowLinks> all;
  for (const char* kind : {"ring", "parameter_server"})
    for (const double mbit : {1.0, 10.0})
      for (const std::size_t bucket : {1'600u, 16'000u, 32'000u})
        for (const std::uint64_t seed : {1u, 2u}) {
          SlowLinks links;
          links.kind = kind;
          links.bits_per_s = mbit * kMbit;
          links.bucket_bytes = bucket;
          links.seed = seed;
          all.push_back(links);
        }
  return all;
}

std::string name_of(const SlowLinks& links) {
  return fmt::format("{}, {} bit/s, bucket {}, seed {}", links.kind, links.bits_per_s,
                     links.bucket_bytes, links.seed);
}

// Seen to fail without the sustained rate.
TEST(SlowLinks, RoundsTakeWhatWasPlannedBehindTokenBuckets) {
  for (const SlowLinks& links : cases()) {
    const RoundTimes times = round_times(links);
    EXPECT_LE(times.quantile(0.5), kMedianMax) << name_of(links);
    EXPECT_LE(times.quantile(0.95), kP95Max) << name_of(links);
  }
}

// Seen to fail with a sustained rate that falls as slowly as it rises.
TEST(SlowLinks, RoundsAreRightAgainThreeRoundsAfterARateFell) {
  for (SlowLinks links : cases()) {
    links.rate_factor = 0.25;
    EXPECT_LE(round_times(links).rounds_until_within(0, kP95Max), kRoundsToFollowMax)
        << name_of(links);
  }
}

}  // namespace
}  // namespace kimesh::test
