#include "src/round/step_multiple.h"

#include <gtest/gtest.h>

namespace kimesh::step_multiple_test {
namespace {

// Of a node that takes a tenth of a second for a step, after two offers.
unsigned wanted(double slowest_s, unsigned offered = 1) {
  StepMultiple multiple;
  multiple.add(0.1);
  multiple.offer(offered);
  (void)multiple.wanted(slowest_s);
  return multiple.wanted(slowest_s);
}

TEST(StepMultiple, IsWhatTheSlowestNodeLeavesTimeFor) {
  EXPECT_EQ(StepMultiple().wanted(1), 1u) << "nothing is known of this node";
  EXPECT_EQ(wanted(0), 1u) << "nor of the others";
  EXPECT_EQ(wanted(0.1), 1u);
  EXPECT_EQ(wanted(0.2), 2u);
  EXPECT_EQ(wanted(0.3), 3u);
  EXPECT_EQ(wanted(9), kMultipleMax);
}

// Times of gradients on shared cores go to and fro. Seen to fail where one offer is enough.
TEST(StepMultiple, StaysWhereTimesMoveByALittle) {
  for (const unsigned offered : {1u, 2u}) EXPECT_EQ(wanted(0.17, offered), offered);
  EXPECT_EQ(wanted(0.15, 2), 1u);
  EXPECT_EQ(wanted(0.195), 2u);
  StepMultiple multiple;
  multiple.add(0.1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(multiple.wanted(0.3), 1u) << "once";
    EXPECT_EQ(multiple.wanted(0.1), 1u);
  }
}

// Seen to fail where what is offered counts at once.
TEST(StepMultiple, CountsFromTheVerdictThatHoldsIt) {
  StepMultiple multiple;
  multiple.offer(3);
  EXPECT_EQ(multiple.agreed(), 1u);
  multiple.agree();
  multiple.offer(2);
  EXPECT_EQ(multiple.agreed(), 3u);
}

TEST(StepMultiple, MeansOneWhereNobodyTakesMore) {
  EXPECT_EQ(mean_multiple_of(0), 1);
  EXPECT_EQ(mean_multiple_of(0.1 + 0.2 + 0.3 + 0.4), 1);
  EXPECT_EQ(mean_multiple_of(1.0 + 4e-16), 1);
  EXPECT_EQ(mean_multiple_of(1.75), 1.75);
  EXPECT_EQ(mean_multiple_of(1e9), kMultipleMax);
}

}  // namespace
}  // namespace kimesh::step_multiple_test
