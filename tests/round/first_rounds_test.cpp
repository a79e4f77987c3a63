// How much larger messages may become from one of the first rounds to the next.
#include "src/round/first_rounds.h"

#include <gtest/gtest.h>

#include "tests/round/hand.h"

namespace kimesh::first_rounds_test {
namespace {

// Seen to fail where messages were limited from the first round on.
TEST(FirstRounds, LimitNothingBeforeARoundTookFarTooLong) {
  FirstRounds rounds;
  EXPECT_EQ(rounds.end_round(1.5, false), 0);
  EXPECT_EQ(rounds.end_round(1.5, true), 0);
  EXPECT_EQ(rounds.end_round(4, true), 0.25);
}

// Seen to fail where messages grew as before.
TEST(FirstRounds, LetMessagesGrowFasterTheLongerRoundsAreInTime) {
  FirstRounds rounds;
  EXPECT_EQ(rounds.end_round(4, true), 0.25);
  EXPECT_EQ(rounds.end_round(1.5, false), 2) << "others were late, by little";
  EXPECT_EQ(rounds.end_round(0.5, true), 4) << "slow for its link, and in time all the same";
  EXPECT_EQ(rounds.end_round(1.25, true), 0.8);
  EXPECT_EQ(rounds.end_round(0.5, false), 2);
}

// Other nodes' messages were too large. Seen to fail where nothing was limited then, and where
// messages became smaller.
TEST(FirstRounds, LetMessagesStayAsTheyAreWhereOthersMadeTheRoundTooLong) {
  FirstRounds rounds;
  EXPECT_EQ(rounds.end_round(28, false), 1);
  EXPECT_EQ(rounds.end_round(3, false), 1);
  EXPECT_EQ(rounds.end_round(1, false), 2);
  EXPECT_EQ(rounds.end_round(3, false), 1);
  EXPECT_EQ(rounds.end_round(1, false), 2) << "counted anew";
}

TEST(FirstRounds, EndWhenLinksAreKnown) {
  FirstRounds rounds;
  int count = 0;
  while (rounds.end_round(4, count % 2 == 0) > 0) ++count;
  EXPECT_EQ(count, 11);
  EXPECT_EQ(rounds.end_round(4, true), 0);
  EXPECT_EQ(rounds.end_round(4, false), 0);
}

// Where a message was late, a round is compared with its own plan: with T_comp as the verdict tells
// that ends the first one, and not with the next round's exchange. Seen to fail where the gradient
// of round 0 counted as time of its messages, and with the plan of the verdict.
TEST(FirstRounds, LimitNothingAfterRoundsThatTookWhatWasPlanned) {
  CoreOptions options = test::Hand::default_options();
  options.policy = {policy_options("auto"), make_codec("dzq")};
  options.feedback = Feedback::kEf14;
  options.gather = Gather::kShared;
  test::Hand hand(test::two_nodes(), 1, options);
  hand.start();
  const LinkIndex to_server = *hand.plan.find_link(1, 0);
  const auto carry = [&](int milliseconds) {
    LinkSample sample;
    sample.bytes = 10'000;
    sample.elapsed = sample.round_trip + std::chrono::milliseconds(milliseconds);
    sample.tail_bytes = 5'000;
    sample.tail_time = std::chrono::milliseconds(milliseconds / 2);
    sample.chunks = 8;
    hand.feed(MessageAcked{to_server, sample});
  };
  Verdict verdict;
  verdict.compute_s = 0.5;
  for (Round round = 0; round < 2; ++round) {
    for (int i = 0; i < 8; ++i) carry(10);
    carry(40);
    const auto gradient = std::chrono::milliseconds(500);
    hand.wait(gradient);
    hand.feed(GradientDone{round, 1.0, gradient});
    hand.feed(test::advanced(hand.last().get<AdvanceChannel>()));
    hand.feed(MessageApplied{to_server, {round, 0, 0, Phase::kReduce, {}}});
    hand.wait(std::chrono::milliseconds(200));
    MessageArrived gather = hand.from(0, 0, Phase::kGather, round);
    verdict.exchange_s = round == 0 ? 0.2 : 0.05;  // of the next round
    gather.message.control = verdict.to_control();
    hand.apply(std::move(gather));
  }
  hand.feed(GradientDone{2, 1.0, std::chrono::milliseconds(500)});
  EXPECT_TRUE(hand.last().get<AdvanceChannel>().setting.budget.is_dense())
      << "4 kB on a link of 1 MB/s";
}

}  // namespace
}  // namespace kimesh::first_rounds_test
