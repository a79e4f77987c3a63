// How much larger messages may become from one of the first rounds to the next.
#include "src/round/first_rounds.h"

#include <gtest/gtest.h>

namespace kimesh::first_rounds_test {
namespace {

// Seen to fail where messages were limited from the first round on.
TEST(FirstRounds, LimitNothingBeforeARoundTookFarTooLong) {
  FirstRounds rounds;
  EXPECT_EQ(rounds.end_round(std::nullopt), 0);
  EXPECT_EQ(rounds.end_round(1.5), 0);
  EXPECT_EQ(rounds.end_round(4.0), 0.25);
}

// Seen to fail where messages grew as before.
TEST(FirstRounds, LetMessagesGrowFasterTheLongerRoundsAreInTime) {
  FirstRounds rounds;
  EXPECT_EQ(rounds.end_round(4.0), 0.25);
  EXPECT_EQ(rounds.end_round(std::nullopt), 2);
  EXPECT_EQ(rounds.end_round(0.5), 4) << "slow for its link, and in time all the same";
  EXPECT_EQ(rounds.end_round(1.25), 0.8);
  EXPECT_EQ(rounds.end_round(std::nullopt), 2);
}

TEST(FirstRounds, EndWhenLinksAreKnown) {
  FirstRounds rounds;
  int count = 0;
  while (rounds.end_round(4.0) > 0) ++count;
  EXPECT_EQ(count, 11);
  EXPECT_EQ(rounds.end_round(4.0), 0);
}

}  // namespace
}  // namespace kimesh::first_rounds_test
