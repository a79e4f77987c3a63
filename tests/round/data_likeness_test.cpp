// What a run has learnt of its nodes' data from the cosines of their movements.
#include "src/round/data_likeness.h"

#include <gtest/gtest.h>

namespace kimesh::data_likeness_test {
namespace {

constexpr double kAlike = 0.3, kNoise = 0, kUnlike = -0.3;

DataLikeness after(std::initializer_list<double> cosines) {
  DataLikeness data;
  for (const double cosine : cosines) data.add(cosine);
  return data;
}

// Seen to fail with the recent offers alone: exchanges of 22 ms on tree7 then shrank to 2, and the
// loss came back from 0.1 to 1.1.
TEST(DataLikeness, DataThatWereUnlikeStaySoWhereNoiseHidesIt) {
  DataLikeness data = after({kUnlike, kUnlike, kUnlike});
  for (int offer = 0; offer < 20; ++offer) data.add(kNoise);
  EXPECT_EQ(data.unlike(), 1);
  EXPECT_FALSE(data.may_look_ahead());
}

// Seen to fail where one odd offer, or the first one, decides for all of the run.
TEST(DataLikeness, OneOddOfferDecidesNothing) {
  EXPECT_EQ(after({kAlike, kUnlike, kAlike, kAlike, kAlike}).unlike(), 0);
  EXPECT_TRUE(after({kAlike, kUnlike, kAlike}).may_look_ahead());
  EXPECT_EQ(after({kUnlike, kAlike, kAlike, kAlike, kAlike}).unlike(), 0);
}

// Seen to fail with data that can only become alike.
TEST(DataLikeness, DataThatTurnOutUnlikeEndLookingAhead) {
  const DataLikeness data = after({kAlike, kAlike, kAlike, kUnlike, kUnlike, kUnlike});
  EXPECT_EQ(data.unlike(), 1);
  EXPECT_FALSE(data.may_look_ahead());
  EXPECT_FALSE(DataLikeness().may_look_ahead()) << "nothing is known yet";
}

}  // namespace
}  // namespace kimesh::data_likeness_test
