// The closed loop of estimator and budget behind token buckets that drain between messages: rounds
// take what was planned. All in virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/compress/codecs.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/quadratic_mesh/round_times.h"

namespace kimesh::test::slow_links_test {
namespace {

constexpr double kMbit = 1e6;
// Took / plan, median and 95th percentile.
constexpr double kMedianMax = 1.08, kP95Max = 1.25;
// Three are the aim, which a ring at 1 Mbit/s behind 16 KB misses by one.
constexpr double kRoundsToFollowMax = 4;

std::vector<SlowLinks> cases() {
  std::vector<SlowLinks> all;
  for (const char* kind : {"ring", "parameter_server"})
    for (const double mbit : {1.0, 10.0})
      for (const std::size_t bucket : {1'600u, 16'000u, 32'000u}) {
        SlowLinks links;
        links.kind = kind;
        links.bits_per_s = mbit * kMbit;
        links.bucket_bytes = bucket;
        all.push_back(links);
      }
  return all;
}

// What a run told, the median of three seeds.
template <typename Figure>
double median_of_seeds(SlowLinks links, Figure figure) {
  std::vector<double> values;
  for (links.seed = 1; links.seed <= 3; ++links.seed)
    values.push_back(static_cast<double>(figure(round_times(links))));
  std::ranges::sort(values);
  return values[1];
}

std::string name_of(const SlowLinks& links) {
  return fmt::format("{}{}, {} bit/s, bucket {}, {} ms each way", links.kind,
                     links.shared ? ", shared" : "", links.bits_per_s, links.bucket_bytes,
                     1e3 * to_seconds(links.delay));
}

void expect_as_planned(const SlowLinks& links) {
  const auto quantile = [](double share) {
    return [share](const RoundTimes& times) { return times.quantile(share); };
  };
  EXPECT_LE(median_of_seeds(links, quantile(0.5)), kMedianMax) << name_of(links);
  EXPECT_LE(median_of_seeds(links, quantile(0.95)), kP95Max) << name_of(links);
}

// Seen to fail without the sustained rate.
TEST(SlowLinks, RoundsTakeWhatWasPlannedBehindTokenBuckets) {
  for (const SlowLinks& links : cases()) expect_as_planned(links);
}

// The acks' way back costs a round nothing. Seen to fail with the whole round trip left out of the
// plan.
TEST(SlowLinks, RoundsTakeWhatWasPlannedOverLongLinks) {
  for (SlowLinks links : cases()) {
    if (links.bits_per_s > kMbit) continue;
    links.delay = std::chrono::milliseconds(10);
    links.round_time = std::chrono::milliseconds(400);
    links.gradient = std::chrono::milliseconds(80);
    expect_as_planned(links);
    links.bucket_bytes = 0;
    EXPECT_GE(median_of_seeds(links, [](const RoundTimes& t) { return t.quantile(0.5); }), 0.95)
        << name_of(links) << ": the time of the acks is used";
  }
}

// Seen to fail with a sustained rate that falls as slowly as it rises.
TEST(SlowLinks, RoundsAreRightAgainSoonAfterARateFell) {
  const auto rounds = [](const RoundTimes& times) { return times.rounds_until_within(0, kP95Max); };
  for (SlowLinks links : cases()) {
    links.rate_factor = 0.25;
    EXPECT_LE(median_of_seeds(links, rounds), kRoundsToFollowMax) << name_of(links);
  }
}

// One message in ten is late by up to 20 ms. Seen to fail, with a fifth of the bytes, where the
// sustained rate takes every low reading in full.
TEST(SlowLinks, BusyMachinesDoNotMakeALinkSlow) {
  for (SlowLinks links : cases()) {
    if (links.bits_per_s <= kMbit || links.bucket_bytes > 16'000) continue;
    links.hiccup_chance = 0.1;
    links.hiccup = std::chrono::milliseconds(20);
    const auto busy = [](const RoundTimes& times) { return times.busy; };
    EXPECT_GE(median_of_seeds(links, busy), 0.7) << name_of(links);
  }
}

// Undeclared interfaces of which flows get unlike parts. Seen to fail without a pace: rounds took
// 1.24 / 1.77 of the plan.
TEST(SlowLinks, RoundsTakeWhatWasPlannedWhereUnfairFlowsShareInterfaces) {
  constexpr double kUnfairMedianMax = 1.12, kUnfairP95Max = 1.35;
  SlowLinks links;
  links.kind = "parameter_server";
  links.shared = true;
  links.unfairness = 0.7;
  EXPECT_LE(median_of_seeds(links, [](const RoundTimes& t) { return t.quantile(0.5); }),
            kUnfairMedianMax);
  EXPECT_LE(median_of_seeds(links, [](const RoundTimes& t) { return t.quantile(0.95); }),
            kUnfairP95Max);
}

MeshSpec ring_in(Duration round_time) {
  MeshSpec spec;
  spec.core.stop_rounds = 60;
  spec.core.policy = {policy_options("kimad"), make_codec("topk"), round_time};
  spec.dimension = 40'000;
  return spec;
}

// Seen to fail without the check, and with one that repeats itself.
TEST(SlowLinks, ARoundTimeThatCannotBeKeptIsSaidOnce) {
  Mesh mesh(ring_in(std::chrono::milliseconds(12)));
  mesh.setup.costs.gradient = std::chrono::milliseconds(20);
  mesh.run();
  ASSERT_EQ(mesh.notices.size(), 1u);
  EXPECT_THAT(mesh.notices[0], testing::StartsWith("round_time is 12 ms, but a round takes 2"));
  EXPECT_THAT(mesh.notices[0], testing::HasSubstr("gradients and other work alone"))
      << "messages of the floor do not tell the rate";

  Mesh slow(ring_in(std::chrono::milliseconds(40)));
  slow.setup.links[2].rate = RateTrace{{{0, 50e3}}};
  slow.run();
  ASSERT_EQ(slow.notices.size(), 1u) << "only the node whose link is too slow";
  EXPECT_THAT(slow.notices[0], testing::HasSubstr("on link n2->n3"));

  Mesh enough(ring_in(std::chrono::milliseconds(100)));
  enough.run();
  EXPECT_THAT(enough.notices, testing::IsEmpty());
}

}  // namespace
}  // namespace kimesh::test::slow_links_test
