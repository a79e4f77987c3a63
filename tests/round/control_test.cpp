// What the control vector takes on the wire.
#include "kimesh/round/control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kimesh::control_test {
namespace {

// Seen to fail: two values in one place.
TEST(Control, BringsBackEveryValueOfANode) {
  ControlVector all;
  double next = 1;
  ExchangeOffer& offer = all.offer;
  for (double* value : {&all.nodes,
                        &all.loss,
                        &all.correct,
                        &all.samples,
                        &all.test_loss,
                        &all.compute_s,
                        &all.evaluate_s,
                        &all.gather_limit,
                        &all.stop_wish,
                        &offer.weight,
                        &offer.agreement,
                        &offer.agreement_weight,
                        &offer.least_s,
                        &offer.most_s,
                        &offer.coding_s,
                        &offer.smallest_s,
                        &all.checkpoint_held,
                        &all.checkpoint_wish,
                        &all.step_s,
                        &all.multiple,
                        &all.room_for_even_messages})
    *value = next++;
  for (double& delay : offer.delay) delay = next++;
  EXPECT_TRUE(ControlVector::from_control(all.to_control()) == all);
}

TEST(Control, TakesWhatIsNoMeanOfMultiplesForOne) {
  Verdict verdict;
  verdict.mean_multiple = 1.75;
  verdict.step_s = 0.5;
  EXPECT_EQ(Verdict::from_control(verdict.to_control()), verdict);
  for (const double wrong : {0.5, 4.5, -2.0, std::nan(""), HUGE_VAL}) {
    Control control = verdict.to_control();
    std::ranges::replace(control, 1.75, wrong);
    EXPECT_EQ(Verdict::from_control(control).mean_multiple, 1) << wrong;
  }
}

// Seen to fail: 33 bits passed on.
TEST(Control, TakesNoMoreThanDenseMessagesHaveForBits) {
  ControlVector all;
  all.room_for_even_messages = 2.5;
  Verdict verdict;
  verdict.even_bits = 2.125;
  EXPECT_EQ(Verdict::from_control(verdict.to_control()), verdict);
  for (const double wrong : {-1.0, std::nan(""), 33.0, HUGE_VAL}) {
    const double taken = wrong > 0 ? kBitsOfDense : 0;
    Control control = all.to_control();
    std::ranges::replace(control, 2.5, wrong);
    EXPECT_EQ(ControlVector::from_control(control).room_for_even_messages, taken) << wrong;
    Control word = verdict.to_control();
    std::ranges::replace(word, 2.125, wrong);
    EXPECT_EQ(Verdict::from_control(word).even_bits, taken) << wrong;
  }
}

// Seen to fail where the larger room counted.
TEST(Control, MergesRoomsToTheSmallest) {
  ControlVector all;
  for (const double room : {0.0, 3.0, 2.0, 0.0}) {
    ControlVector child;
    child.room_for_even_messages = room;
    all.merge(child);
  }
  EXPECT_EQ(all.room_for_even_messages, 2);
}

TEST(Control, LeavesAWordThatSaysLittleShortAndAnUnsetRoundUnset) {
  const Verdict silent;
  const Control control = silent.to_control();
  EXPECT_LE(control_bytes(control), 12u);
  EXPECT_EQ(Verdict::from_control(control), silent);
}

}  // namespace
}  // namespace kimesh::control_test
