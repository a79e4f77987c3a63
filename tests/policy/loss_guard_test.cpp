// When the guard of the search for a round time takes a training loss for unstable.
#include "kimesh/policy/loss_guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kimesh/util/random.h"

namespace kimesh::loss_guard_test {
namespace {

void add_rounds(LossGuard& guard, double loss, std::size_t windows, bool unlike = true) {
  for (std::size_t r = 0; r < windows * kLossWindow; ++r) guard.add(loss, unlike);
}

// Seen to fail with a guard that never compares, with one that compares with the first window, and
// with one whose first alarm raises a low caution above 1.
TEST(LossGuard, IsCautiousOnceTheLossComesBack) {
  LossGuard guard;
  add_rounds(guard, 2.3, 1);
  add_rounds(guard, 0.2, 4);
  EXPECT_EQ(guard.caution(), kCautionMin);
  add_rounds(guard, 0.2 + 0.9 * kLossComesBack * 2.1, 2);
  EXPECT_EQ(guard.caution(), kCautionMin) << "a rise that healthy runs have";
  add_rounds(guard, 0.5, 1);
  EXPECT_EQ(guard.caution(), 1);
  add_rounds(guard, 0.5, 3);
  EXPECT_EQ(guard.caution(), 1) << "it is judged from where it came to";
  add_rounds(guard, 0.8, 1);
  EXPECT_EQ(guard.caution(), kCautionStep);
  for (double loss = 1; loss < 20; loss += 1) add_rounds(guard, loss, 1);
  EXPECT_EQ(guard.caution(), kCautionMax);
}

// A low caution says nothing of like data. Seen to fail where it is all that an alarm takes back.
TEST(LossGuard, IsCautiousAtOnceWhereDataAreAlike) {
  LossGuard guard;
  add_rounds(guard, 2.3, 1, false);
  add_rounds(guard, 0.2, 4, false);
  ASSERT_EQ(guard.caution(), kCautionMin);
  add_rounds(guard, 0.5, 1, false);
  EXPECT_EQ(guard.caution(), kCautionStep);
}

// What even messages bore says nothing of uneven ones. Seen to fail with a caution that is halved
// all the same, and with an alarm that takes back what was not tried.
TEST(LossGuard, DoesNotGetBolderWhileMessagesAreEven) {
  LossGuard guard;
  const auto add_even = [&](double loss, std::size_t windows) {
    for (std::size_t r = 0; r < windows * kLossWindow; ++r) guard.add(loss, true, true);
  };
  add_even(2.3, 1 + 4 * kBoldWindows);
  EXPECT_EQ(guard.caution(), 1);
  add_rounds(guard, 0.2, 2 * kBoldWindows);
  ASSERT_LT(guard.caution(), 1) << "they are uneven again";
  add_even(0.2 + 2 * kLossComesBack * 2.1, 1);
  EXPECT_EQ(guard.caution(), kCautionStep);
}

// Seen to fail with a caution that stays.
TEST(LossGuard, TakesAStepBackAfterACalmTime) {
  LossGuard guard;
  add_rounds(guard, 2.3, 1);
  add_rounds(guard, 0.2, 1);
  add_rounds(guard, 1, 1);
  add_rounds(guard, 3, 1);
  ASSERT_EQ(guard.caution(), kCautionStep * kCautionStep);
  add_rounds(guard, 0.2, kCalmWindows - 1);
  EXPECT_EQ(guard.caution(), kCautionStep * kCautionStep);
  add_rounds(guard, 0.2, 1);
  EXPECT_EQ(guard.caution(), kCautionStep);
  add_rounds(guard, 0.2, 2 * kCalmWindows);
  EXPECT_EQ(guard.caution(), 1);
}

// Seen to fail with a caution that halves after an alarm as well, and with one that has no end.
TEST(LossGuard, GetsBolderUntilTheFirstAlarm) {
  LossGuard guard;
  add_rounds(guard, 2.3, 1 + kBoldWindows);
  EXPECT_EQ(guard.caution(), 1 / kBoldStep);
  add_rounds(guard, 2, 10 * kBoldWindows);
  EXPECT_EQ(guard.caution(), kCautionMin);
  add_rounds(guard, 3, 1);
  EXPECT_EQ(guard.caution(), 1);
  add_rounds(guard, 1, 4 * kCalmWindows);
  EXPECT_EQ(guard.caution(), 1);
}

// A loss that is all noise, as of a model that came trained. Seen to fail without standard errors:
// most seeds raise an alarm.
TEST(LossGuard, TakesNoNoiseOfBatchesForARise) {
  int alarms = 0;
  constexpr int kSeeds = 100, kRounds = 400;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed, 0, 0, Purpose::kTest);
    LossGuard guard;
    bool is_calm = true;
    for (int r = 0; r < kRounds; ++r) {
      guard.add(1 + 0.3 * (random.uniform() - 0.5), true);
      is_calm = is_calm && guard.caution() <= 1;
    }
    alarms += is_calm ? 0 : 1;
  }
  EXPECT_LE(alarms, kSeeds / 10);
}

// Seen to fail where such losses are added.
TEST(LossGuard, LeavesOutWhatIsNoNumber) {
  LossGuard guard;
  guard.add(std::numeric_limits<double>::quiet_NaN(), true);
  guard.add(std::numeric_limits<double>::infinity(), true);
  add_rounds(guard, 2.3, 1);
  add_rounds(guard, 0.2, 1);
  add_rounds(guard, 2, 1);
  EXPECT_EQ(guard.caution(), kCautionStep);
}

}  // namespace
}  // namespace kimesh::loss_guard_test
