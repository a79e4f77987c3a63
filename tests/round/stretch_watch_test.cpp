#include "src/round/stretch_watch.h"

#include <gtest/gtest.h>

namespace kimesh::stretch_watch_test {
namespace {

constexpr Pace kAlone{0.02, Ahead::kLooks}, kBeside{0.02, Ahead::kOverlaps};

void add(StretchWatch& watch, int rounds, double compute_s, const Pace& pace) {
  for (int round = 0; round < rounds; ++round) watch.add(compute_s, pace);
}

double seconds_of(const StretchWatch& watch) {
  return watch.measured().value_or(OverlapStretch{-1, 0}).seconds;
}

// Seen to fail where the measurement ended after five rounds, and with a stretch under 0.
TEST(StretchWatch, ComparesTheGradientsBeforeAndAfterAChange) {
  StretchWatch watch;
  add(watch, 6, 0.1, kAlone);
  EXPECT_FALSE(watch.measured());
  add(watch, 1, 0.1, kBeside);
  add(watch, 2, 0.15, kBeside);
  EXPECT_FALSE(watch.measured());
  add(watch, 1, 0.15, kBeside);
  EXPECT_NEAR(seconds_of(watch), 0.05, 1e-12);
  add(watch, 5, 0.3, kBeside);
  EXPECT_NEAR(seconds_of(watch), 0.2, 1e-12) << "messages have grown";
  add(watch, 1, 5, kAlone);
  add(watch, 4, 0.25, kAlone);
  EXPECT_NEAR(seconds_of(watch), 0.05, 1e-12) << "the machine had become slower";
  add(watch, 6, 0.1, kBeside);
  EXPECT_EQ(seconds_of(watch), 0) << "gradients are never faster beside messages";
}

// Seen to fail with the stretch of one step.
TEST(StretchWatch, IsOfTheLastRoundThatOverlapped) {
  StretchWatch watch;
  add(watch, 6, 0.1, kAlone);
  add(watch, 6, 0.15, kBeside);
  add(watch, 5, 0.125, {0.08, Ahead::kOverlaps, 4});
  add(watch, 5, 0.1, {0.03, Ahead::kLooks, 2});
  EXPECT_NEAR(seconds_of(watch), 0.1, 1e-12) << "of four steps";
  EXPECT_EQ(watch.measured()->exchange_s, 0.08);
}

// Seen to fail with what is kept for ever.
TEST(StretchWatch, IsForgottenWhileNothingIsMeasured) {
  StretchWatch watch;
  add(watch, 6, 0.1, kAlone);
  add(watch, 6, 0.2, kBeside);
  add(watch, 5, 0.1, kAlone);
  EXPECT_NEAR(seconds_of(watch), 0.1, 1e-12);
  add(watch, 100, 0.1, kAlone);
  EXPECT_NEAR(seconds_of(watch), 0.05, 0.002);
}

}  // namespace
}  // namespace kimesh::stretch_watch_test
