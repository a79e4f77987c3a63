// How targets of the test set end a run: the owner of shard 0, fed by hand with evaluations.
#include <gtest/gtest.h>

#include <limits>

#include "tests/round/hand.h"

namespace kimesh::test::target_test {
namespace {

constexpr double kSamples = 10;  // of each of the two nodes

// Mean over the test set, which both nodes find in their halves of it.
struct Score {
  double accuracy = 0, loss = 9;
};

CoreOptions with_targets(std::optional<double> accuracy, std::optional<double> loss) {
  CoreOptions options = Hand::default_options();
  options.has_test_set = true;
  options.evaluate_every = 1;
  options.stop_accuracy = accuracy;
  options.stop_loss = loss;
  return options;
}

// The owner, which evaluates in every round but the first.
class Owner {
 public:
  explicit Owner(const CoreOptions& options) : hand_(two_nodes(), 0, options) {
    hand_.start();
    gradient();
    end_round();
  }

  // A round with a gradient, in which both nodes score so. Returns the owner's verdict of it.
  Verdict train(const Score& score) {
    evaluate(score);
    gradient();
    return end_round();
  }
  // A round without a gradient. Returns the owner's verdict of it.
  Verdict confirm(const Score& score) {
    evaluate(score);
    const Round of = round();
    MessageArrived arrived = child(score);
    arrived.message.form = Form::kEmpty;
    hand_.feed(std::move(arrived));
    const Verdict verdict = sent_verdict();
    hand_.feed(hand_.gather_applied(1, of, ApplyOutcome::kApplied));
    return verdict;
  }
  [[nodiscard]] Round round() const { return hand_.core.round(); }

 private:
  void evaluate(const Score& score) {
    hand_.feed(Evaluated{round(), kSamples * score.accuracy, kSamples, kSamples * score.loss, {}});
    score_ = score;
  }
  void gradient() { hand_.feed(GradientDone{round(), 1.0, {}}); }
  MessageArrived child(const Score& score) {
    MessageArrived arrived = hand_.reduce_from(1, round());
    ControlVector control = ControlVector::from_control(arrived.message.control);
    control.correct = kSamples * score.accuracy;
    control.samples = kSamples;
    control.test_loss = kSamples * score.loss;
    arrived.message.control = control.to_control();
    return arrived;
  }
  Verdict end_round() {
    const Round of = round();
    hand_.feed(of == 0 ? hand_.reduce_from(1, 0) : child(score_));
    hand_.feed(applied(hand_.last().get<ApplyMessage>()));
    hand_.feed(StepDone{0, of, 0, {}});
    hand_.feed(advanced(hand_.last().get<AdvanceChannel>()));
    const Verdict verdict = sent_verdict();
    hand_.feed(hand_.gather_applied(1, of, ApplyOutcome::kApplied));
    return verdict;
  }
  Verdict sent_verdict() {
    return Verdict::from_control(hand_.last().get<SendMessage>().message.control);
  }

  Hand hand_;
  Score score_;
};

TEST(Target, ALossEndsTheRunAfterTwoHitsInARowThatThePollConfirms) {
  Owner owner(with_targets({}, 2.05));
  EXPECT_EQ(owner.train({.loss = 2.05}).closing_round, kNoRound) << "one hit may be luck";
  EXPECT_EQ(owner.train({.loss = 2.06}).closing_round, kNoRound);
  EXPECT_EQ(owner.train({.loss = 2.0}).closing_round, kNoRound) << "the two are not in a row";
  const Verdict called = owner.train({.loss = 1.9});
  EXPECT_EQ(called.closing_round, 5u);
  EXPECT_EQ(called.reason, StopReason::kLoss);
  EXPECT_DOUBLE_EQ(called.test_loss, 1.9);
  EXPECT_FALSE(owner.train({.loss = 3}).stop) << "the closing round itself decides nothing";
  const Verdict last = owner.confirm({.loss = 2});
  EXPECT_TRUE(last.stop);
  EXPECT_EQ(last.reason, StopReason::kLoss);
}

TEST(Target, ALossThatTheEqualModelsDoNotReachLetsTrainingGoOn) {
  Owner owner(with_targets({}, 2.05));
  owner.train({.loss = 2});
  owner.train({.loss = 2});
  owner.train({.loss = 2});
  const Verdict confirmed = owner.confirm({.loss = 2.1});
  EXPECT_FALSE(confirmed.stop);
  EXPECT_EQ(confirmed.closing_round, kNoRound);
  EXPECT_EQ(confirmed.reason, StopReason::kNone);
  EXPECT_EQ(owner.train({.loss = 2}).closing_round, kNoRound) << "two hits in a row again";
  EXPECT_EQ(owner.train({.loss = 2}).reason, StopReason::kLoss);
}

TEST(Target, ALossThatIsNoNumberIsNoHit) {
  Owner owner(with_targets({}, 2.05));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(owner.train({.loss = std::numeric_limits<double>::quiet_NaN()}).closing_round,
              kNoRound);
}

TEST(Target, AccuracyAndLossAreCountedEachForItself) {
  Owner owner(with_targets(0.9, 2.05));
  EXPECT_EQ(owner.train({.accuracy = 0.95, .loss = 3}).closing_round, kNoRound);
  EXPECT_EQ(owner.train({.accuracy = 0.5, .loss = 2}).closing_round, kNoRound);
  EXPECT_EQ(owner.train({.accuracy = 0.95, .loss = 3}).closing_round, kNoRound);
  EXPECT_EQ(owner.train({.accuracy = 0.9, .loss = 2}).reason, StopReason::kAccuracy);
  owner.train({});
  EXPECT_FALSE(owner.confirm({.accuracy = 0.8, .loss = 2}).stop)
      << "the round confirms what was reached twice, not the other target";
}

}  // namespace
}  // namespace kimesh::test::target_test
