#include "kimesh/emulation/rate_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kimesh/util/random.h"

namespace kimesh::rate_trace_test {
namespace {

TEST(RateTrace, OfOneStepNeverChanges) {
  const RateTrace constant{{{0, 5e5}}};
  EXPECT_EQ(constant.at(0), 5e5);
  EXPECT_EQ(constant.at(1e9), 5e5);
  EXPECT_EQ(constant.next_change_after(3), std::numeric_limits<double>::infinity());
}

TEST(RateTrace, RepeatsWhenItsLastStepComes) {
  const RateTrace trace{{{0, 1}, {1, 2}, {4, 99}}};
  EXPECT_EQ(trace.at(0), 1);
  EXPECT_EQ(trace.at(0.999), 1);
  EXPECT_EQ(trace.at(1), 2);
  EXPECT_EQ(trace.at(3.999), 2);
  EXPECT_EQ(trace.at(4), 1);  // 99 is never in force: its time ends the period
  EXPECT_EQ(trace.at(41), 2);
  EXPECT_EQ(trace.next_change_after(0), 1);
  EXPECT_EQ(trace.next_change_after(1), 4);
  EXPECT_EQ(trace.next_change_after(4), 5);
  EXPECT_EQ(trace.next_change_after(42.5), 44);
}

TEST(RateTrace, OfTwoStepsIsConstantAndStillHasPeriods) {
  const RateTrace trace{{{0, 7}, {2, 8}}};
  EXPECT_EQ(trace.at(3), 7);
  EXPECT_EQ(trace.next_change_after(3), 4);
}

TEST(RateTrace, ItsMeanIsThatOfAWholePeriod) {
  EXPECT_EQ((RateTrace{{{0, 5}}}).mean(), 5);
  EXPECT_EQ((RateTrace{{{0, 4}, {1, 1}, {10, 9}}}).mean(), 1.3) << "the last step ends the period";
}

// A walk from change to change must move on, and find the new rate there, at any time of a run.
// Seen to fail with fmod() for the place in the period: it disagrees with the boundary's sum.
TEST(RateTrace, EveryChangeLiesAheadAndBringsTheNextStep) {
  const std::uint64_t seed = 11;
  Random random(seed, 0, 0, Purpose::kTest);
  for (int repeat = 0; repeat < 200; ++repeat) {
    RateTrace trace;
    double seconds = 0;
    const std::uint32_t count = 3 + random.below(5);
    for (std::uint32_t i = 0; i < count; ++i, seconds += 0.001 + random.uniform())
      trace.steps.push_back({seconds, 1.0 + i});
    double now = std::floor(random.uniform() * 1e5);
    for (int step = 0; step < 50; ++step) {
      const double rate = trace.at(now);
      const double change = trace.next_change_after(now);
      ASSERT_GT(change, now) << "seed " << seed << " repeat " << repeat;
      ASSERT_EQ(trace.at(std::nextafter(change, 0)), rate) << "seed " << seed << ' ' << repeat;
      const double expected = rate == count - 1 ? 1 : rate + 1;
      ASSERT_EQ(trace.at(change), expected) << "seed " << seed << ' ' << repeat;
      now = change;
    }
  }
}

}  // namespace
}  // namespace kimesh::rate_trace_test
