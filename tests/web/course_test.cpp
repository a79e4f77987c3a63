#include "src/web/course.h"

#include <gtest/gtest.h>

namespace kimesh::course_test {
namespace {

// Seen to fail with the time of the closing round in the sum.
TEST(Course, LeavesOutTheTimeOfAClosingRound) {
  Course course;
  for (Round r = 0; r < 3; ++r) {
    RoundRecord round;
    round.round = r;
    round.loss = 2;
    round.closing = r == 1;
    round.round_s = round.closing ? 5 : 0.5;
    course.add(round, r + 1.0);
  }
  ASSERT_EQ(course.points().size(), 3u);
  for (Round r = 0; r < 3; ++r) {
    const CoursePoint& point = course.points()[r];
    EXPECT_EQ(point.count, r == 1 ? 0u : 1u);
    EXPECT_EQ(point.round_s, r == 1 ? 0 : 0.5);
    EXPECT_EQ(point.losses, 1u) << "its loss is one as any other";
  }
}

}  // namespace
}  // namespace kimesh::course_test
