#include "src/round/overlap_stretch.h"

#include <gtest/gtest.h>

namespace kimesh::overlap_stretch_test {
namespace {

void add(OverlapStretch& stretch, int rounds, double compute_s, bool overlaps) {
  for (int round = 0; round < rounds; ++round) stretch.add(compute_s, overlaps);
}

// Seen to fail with means, with gradients of an earlier time in a way, with those after the first
// rounds, and with a factor under 1.
TEST(OverlapStretch, ComparesTheGradientsBeforeAndAfterAChange) {
  OverlapStretch stretch;
  add(stretch, 6, 0.1, false);
  EXPECT_FALSE(stretch.is_known());
  stretch.add(0.1, true);
  add(stretch, 2, 0.15, true);
  EXPECT_FALSE(stretch.is_known());
  add(stretch, 1, 0.15, true);
  EXPECT_NEAR(stretch.factor(), 1.5, 1e-12);
  add(stretch, 100, 0.3, true);
  EXPECT_NEAR(stretch.factor(), 1.5, 1e-12) << "the machine has become slower";
  stretch.add(5, false);
  add(stretch, 4, 0.25, false);
  EXPECT_NEAR(stretch.factor(), 1.2, 1e-12);
  add(stretch, 1, 0.1, true);
  add(stretch, 5, 0.1, true);
  EXPECT_EQ(stretch.factor(), 1) << "gradients are never faster beside messages";
}

// Seen to fail with what is kept for ever.
TEST(OverlapStretch, IsForgottenWhileNothingIsMeasured) {
  OverlapStretch stretch;
  add(stretch, 6, 0.1, false);
  add(stretch, 6, 0.2, true);
  add(stretch, 5, 0.1, false);
  const double measured = stretch.factor();
  EXPECT_NEAR(measured, 2, 1e-12);
  add(stretch, 100, 0.1, false);
  EXPECT_NEAR(stretch.factor() - 1, 0.5, 0.02);
}

}  // namespace
}  // namespace kimesh::overlap_stretch_test
