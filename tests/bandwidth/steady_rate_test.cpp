#include "kimesh/bandwidth/steady_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kimesh/util/random.h"

namespace kimesh::steady_rate_test {
namespace {

constexpr double kRate = 1e6;  // bytes/s

SteadyRate after(std::size_t messages, double bytes_per_s) {
  SteadyRate steady;
  for (std::size_t i = 0; i < messages; ++i) steady.add(bytes_per_s);
  return steady;
}

TEST(SteadyRate, IsWhatALinkIsBelievedToCarryWhereThatStays) {
  EXPECT_EQ(after(SteadyRate::kRecent - 1, kRate).of(3 * kRate), 3 * kRate) << "little is known";
  EXPECT_EQ(after(SteadyRate::kCount, kRate).of(kRate), kRate);
}

// Seen to fail without the quantile, and without the median of the last ones.
TEST(SteadyRate, LeavesSingleJumpsOut) {
  const SteadyRate steady = after(20, kRate);
  EXPECT_EQ(steady.of(5 * kRate), kRate);
  EXPECT_EQ(steady.of(kRate / 5), kRate);
}

// Seen to fail where the quantile is the least that counts.
TEST(SteadyRate, FallsWithTheFifthMessage) {
  SteadyRate steady = after(SteadyRate::kCount, kRate);
  for (int i = 0; i < 4; ++i) {
    steady.add(kRate / 5);
    EXPECT_EQ(steady.of(kRate / 5), kRate);
  }
  steady.add(kRate / 5);
  EXPECT_EQ(steady.of(kRate / 5), kRate / 5);
}

// Seen to fail with a window that does not move.
TEST(SteadyRate, RisesOnceMostMessagesTellSo) {
  SteadyRate steady = after(SteadyRate::kCount, kRate);
  std::size_t messages = 0;
  while (steady.of(4 * kRate) < 4 * kRate && messages < 2 * SteadyRate::kCount) {
    steady.add(4 * kRate);
    ++messages;
  }
  EXPECT_GT(messages, SteadyRate::kCount / 2);
  EXPECT_LT(messages, SteadyRate::kCount);
}

// Seen to fail without the quantile: sizes vary by a factor of five.
TEST(SteadyRate, VariesFarLessThanBeliefsThatJump) {
  constexpr std::uint64_t kSeed = 7;
  Random random(kSeed, 0, 0, Purpose::kTest);
  SteadyRate steady;
  double least = INFINITY, most = 0;
  for (int i = 0; i < 1000; ++i) {
    const double now = kRate * std::exp2(2 * random.uniform());
    steady.add(now);
    if (i < 100) continue;
    least = std::min(least, steady.of(now));
    most = std::max(most, steady.of(now));
  }
  EXPECT_LT(most, 2.1 * least) << "seed " << kSeed;
  EXPECT_GT(most, kRate) << "above the least of them";
}

// Seen to fail where all are taken.
TEST(SteadyRate, IgnoresWhatIsNoRate) {
  for (const double none : {0.0, -kRate, double(INFINITY), double(NAN)}) {
    SteadyRate steady = after(20, kRate);
    for (std::size_t i = 0; i < SteadyRate::kCount; ++i) steady.add(none);
    EXPECT_EQ(steady.of(5 * kRate), kRate) << none;
    EXPECT_EQ(steady.of(kRate / 5), kRate) << none;
  }
}

// Seen to fail where only the counts are looked at.
TEST(SteadyRate, IsSoundWithRatesOnly) {
  const auto restored = [](double bytes_per_s, std::size_t next, std::size_t count) {
    SteadyRate steady = after(SteadyRate::kCount, kRate);
    auto [rates, next_place, rates_in_use] = SteadyRate::state_of(steady);
    rates[0] = bytes_per_s;
    next_place = next;
    rates_in_use = count;
    return steady.is_sound();
  };
  EXPECT_TRUE(restored(kRate, 5, SteadyRate::kCount));
  EXPECT_TRUE(restored(kRate, 5, 5));
  EXPECT_FALSE(restored(kRate, 5, 9)) << "four places are empty";
  EXPECT_FALSE(restored(kRate, SteadyRate::kCount, 5));
  for (const double none : {0.0, -kRate, double(INFINITY), double(NAN)})
    EXPECT_FALSE(restored(none, 5, 5)) << none;
}

}  // namespace
}  // namespace kimesh::steady_rate_test
