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
  EXPECT_EQ(rounds.end_round(3, false), 0) << "perhaps of a slow gradient";
  EXPECT_EQ(rounds.end_round(28, false), 1);
  EXPECT_EQ(rounds.end_round(5, false), 1);
  EXPECT_EQ(rounds.end_round(1, false), 2);
  EXPECT_EQ(rounds.end_round(5, false), 1);
  EXPECT_EQ(rounds.end_round(3, false), 2) << "counted anew";
}

TEST(FirstRounds, EndWhenLinksAreKnown) {
  FirstRounds rounds;
  int count = 0;
  while (rounds.end_round(5, count % 2 == 0) > 0) ++count;
  EXPECT_EQ(count, 11);
  EXPECT_EQ(rounds.end_round(5, true), 0);
  EXPECT_EQ(rounds.end_round(5, false), 0);
}

// A worker on a link that carries a message of 10 kB in 10 ms. By the verdicts gradients take half
// a second.
class Worker {
 public:
  Worker() { hand.start(); }
  // Feeds the ack of a message that took 10 ms, or 40 ms where `is_late`.
  void carry(bool is_late) {
    const auto took = std::chrono::milliseconds(is_late ? 40 : 10);
    LinkSample sample;
    sample.bytes = 10'000;
    sample.elapsed = took;
    sample.tail_bytes = 5'000;
    sample.tail_time = took / 2;
    sample.chunks = 8;
    hand.feed(MessageAcked{to_server, sample});
  }
  // A round whose verdict tells `exchange_s` for the next one.
  void run(Round round, Duration gradient, Duration messages, double exchange_s) {
    hand.wait(gradient);
    hand.feed(GradientDone{round, 1.0, gradient});
    hand.feed(test::advanced(hand.last().get<AdvanceChannel>()));
    hand.feed(MessageApplied{to_server, {round, 0, 0, Phase::kReduce, {}}});
    hand.wait(messages);
    MessageArrived gather = hand.from(0, 0, Phase::kGather, round);
    Verdict verdict;
    verdict.compute_s = 0.5;
    verdict.exchange_s = exchange_s;
    gather.message.control = verdict.to_control();
    hand.apply(std::move(gather));
  }
  // Whether the message of this round may be dense, which takes 4 kB.
  bool sends_all(Round round) {
    hand.feed(GradientDone{round, 1.0, kGradient});
    return hand.last().get<AdvanceChannel>().setting.budget.is_dense();
  }

  static constexpr Duration kGradient = std::chrono::milliseconds(500);
  static CoreOptions options() {
    CoreOptions options = test::Hand::default_options();
    options.policy = {policy_options("auto"), make_codec("dzq")};
    options.feedback = Feedback::kEf14;
    options.gather = Gather::kShared;
    return options;
  }
  test::Hand hand{test::two_nodes(), 1, options()};
  const LinkIndex to_server = *hand.plan.find_link(1, 0);
};

// Where a message was late, a round is compared with its own plan: with T_comp as the verdict tells
// that ends the first one, and not with the next round's exchange. Seen to fail where the gradient
// of round 0 counted as time of its messages, and with the plan of the verdict.
TEST(FirstRounds, LimitNothingAfterRoundsThatTookWhatWasPlanned) {
  Worker worker;
  for (Round round = 0; round < 2; ++round) {
    for (int i = 0; i < 8; ++i) worker.carry(false);
    worker.carry(true);
    const double next_exchange_s = round == 0 ? 0.2 : 0.05;
    worker.run(round, Worker::kGradient, std::chrono::milliseconds(200), next_exchange_s);
  }
  EXPECT_TRUE(worker.sends_all(2)) << "4 kB on a link of 1 MB/s";
}

// This node sent no message that was too large. Seen to fail where only such a message limits
// sizes, where round 0 counts, which nodes begin at unlike times, and where a slow gradient counts.
TEST(FirstRounds, LimitAllNodesAfterRoundsThatOthersMadeFarTooLong) {
  const auto sends_all = [](Round slow_round, Duration gradient, Duration messages) {
    Worker worker;
    for (Round round = 0; round < 2; ++round) {
      for (int i = 0; i < 9; ++i) worker.carry(false);
      const bool is_slow = round == slow_round;
      worker.run(round, is_slow ? gradient : Worker::kGradient,
                 is_slow ? messages : std::chrono::milliseconds(200), 0.2);
    }
    return worker.sends_all(2);
  };
  const Duration far_too_long = 5 * Worker::kGradient, in_time = std::chrono::milliseconds(200);
  EXPECT_FALSE(sends_all(1, Worker::kGradient, far_too_long));
  EXPECT_TRUE(sends_all(0, Worker::kGradient, far_too_long));
  EXPECT_TRUE(sends_all(1, 3 * Worker::kGradient, in_time));
}

}  // namespace
}  // namespace kimesh::first_rounds_test
