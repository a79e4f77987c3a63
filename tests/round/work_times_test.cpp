#include "src/round/work_times.h"

#include <gtest/gtest.h>

namespace kimesh::work_times_test {
namespace {

using std::chrono::milliseconds;

// After a round that took so long besides its gradients.
WorkTimes after_round(Duration exchange) {
  WorkTimes times;
  times.applied(milliseconds(1));
  times.applied(milliseconds(2));
  times.stepped(milliseconds(3));
  times.encoded(milliseconds(4));
  times.end_round(exchange);
  return times;
}

TEST(WorkTimes, AreThoseOfAllHops) {
  const WorkTimes::OfRound work = after_round(milliseconds(100)).of_round(2, 2);
  EXPECT_EQ(work.work, milliseconds(7)) << "two messages are applied, and the owner steps";
  EXPECT_EQ(work.encodings, milliseconds(8));
}

// Seen to fail without the bound.
TEST(WorkTimes, AreNoLongerThanWhatRoundsTakeBesidesTheirGradients) {
  const WorkTimes::OfRound work = after_round(milliseconds(5)).of_round(2, 2);
  EXPECT_NEAR(to_seconds(work.work), 5e-3 * 7 / 15, 1e-9);
  EXPECT_NEAR(to_seconds(work.encodings), 5e-3 * 8 / 15, 1e-9);
  EXPECT_EQ(WorkTimes().of_round(2, 2).work, Duration{0}) << "no round yet";
}

}  // namespace
}  // namespace kimesh::work_times_test
