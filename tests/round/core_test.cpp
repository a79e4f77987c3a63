// The core alone, fed by hand: what it answers to each event, and what it refuses.
#include "kimesh/round/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/round/hand.h"

namespace kimesh::test::core_test {
namespace {

using testing::HasSubstr;

TEST(Core, BeginsWithAGradientAndSendsNothingBeforeItIsThere) {
  Hand hand(two_nodes(), 1);
  EXPECT_TRUE(hand.start().has<ComputeGradient>());
  EXPECT_FALSE(hand.last().has<AdvanceChannel>());
  hand.feed(GradientDone{0, 2.0, {}});
  EXPECT_EQ(hand.last().count<AdvanceChannel>(), 1u) << "its reduce message to the only server";
  EXPECT_FALSE(hand.last().has<SendMessage>());
}

TEST(Core, SendsAMessageWhenItIsEncodedAndItsControlHoldsTheOwnLoss) {
  Hand hand(two_nodes(), 1);
  hand.start();
  hand.feed(GradientDone{0, 2.0, std::chrono::milliseconds(5)});
  hand.feed(advanced(hand.last().get<AdvanceChannel>()));
  const auto& sent = hand.last().get<SendMessage>();
  const auto control = ControlVector::from_control(sent.message.control);
  EXPECT_EQ(control.nodes, 1);
  EXPECT_EQ(control.loss, 0.5 * 2.0) << "weighted by the node's share of the data";
  EXPECT_NEAR(control.compute_s, 0.005, 1e-9);
}

CoreOptions overlapping() {
  CoreOptions options = Hand::default_options();
  options.feedback = Feedback::kEf14;
  options.look_ahead = options.overlap = Use::kAlways;
  return options;
}

// Seen to fail with a gradient that waits for the round's messages.
TEST(Core, AsksForTheNextGradientWhileMessagesTravel) {
  Hand hand(two_nodes(), 1, overlapping());
  EXPECT_EQ(hand.start().get<ComputeGradient>().at, GradientPoint::kAhead);
  hand.feed(GradientDone{0, 2.0, {}});
  ASSERT_TRUE(hand.last().has<TakeMovement>());
  EXPECT_TRUE(hand.last().get<TakeMovement>().overlap);
  hand.feed(MovementTaken{0, true});
  EXPECT_EQ(hand.last().get<ComputeGradient>().round, 1u);
  EXPECT_EQ(hand.last().get<ComputeGradient>().at, GradientPoint::kMade);
}

// A gradient may be under way that a confirmation round would not use. Seen to fail with a verdict
// that is believed: the next round but one ended the program.
TEST(Core, RefusesAVerdictWhoseClosingRoundHasBegun) {
  for (const Round closing : {Round{0}, Round{2}, Round{7}}) {
    Hand hand(two_nodes(), 1, overlapping());
    hand.start();
    hand.feed(GradientDone{0, 2.0, {}});
    const AdvanceChannel reduce = hand.last().get<AdvanceChannel>();
    hand.feed(MovementTaken{0, true, {}});
    hand.feed(advanced(reduce));
    MessageArrived gather = hand.from(0, 0, Phase::kGather, 0);
    Verdict verdict;
    verdict.closing_round = closing;
    gather.message.control = verdict.to_control();
    hand.feed(std::move(gather));
    hand.feed(applied(hand.last().get<ApplyMessage>()));
    EXPECT_TRUE(hand.last().has<Finish>()) << "closing round " << closing;
  }
}

TEST(Core, StepsOnlyWhenItsOwnGradientAndAllChildrenAreThere) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.feed(hand.reduce_from(1, 0));
  EXPECT_TRUE(hand.last().has<ApplyMessage>());
  hand.feed(applied(hand.last().get<ApplyMessage>()));
  EXPECT_TRUE(hand.last().has<SendApplied>());
  EXPECT_FALSE(hand.last().has<StepShard>()) << "the own gradient is missing";
  hand.feed(GradientDone{0, 1.0, {}});
  EXPECT_TRUE(hand.last().has<StepShard>());
}

TEST(Core, AChannelWaitsForTheNewsThatItsLastMessageWasApplied) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.round_of_the_server(0);
  EXPECT_TRUE(hand.last().has<SendMessage>()) << "the gather of round 0";
  // Round 1 comes, but nobody said that the gather of round 0 was applied.
  hand.feed(GradientDone{1, 1.0, {}});
  hand.feed(hand.reduce_from(1, 1));
  hand.feed(applied(hand.last().get<ApplyMessage>()));
  hand.feed(StepDone{0, 1, 0, {}});
  EXPECT_FALSE(hand.last().has<AdvanceChannel>());
  hand.feed(hand.gather_applied(1, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(hand.last().get<AdvanceChannel>().round, 1u);
}

TEST(Core, AnotherDigestStartsTheChannelAnewWithADenseGather) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.round_of_the_server(0);
  hand.feed(hand.gather_applied(1, 0, ApplyOutcome::kDigestDiffers));
  EXPECT_THAT(hand.last().get<Notice>().text, HasSubstr("link n0->n1, shard 0, gather, round 0"));
  hand.feed(GradientDone{1, 1.0, {}});
  hand.feed(hand.reduce_from(1, 1));
  hand.feed(applied(hand.last().get<ApplyMessage>()));
  hand.feed(StepDone{0, 1, 0, {}});
  const auto advance = hand.last().get<AdvanceChannel>();
  EXPECT_TRUE(advance.restart);
  EXPECT_TRUE(advance.setting.budget.is_dense());
  hand.feed(advanced(advance));
  EXPECT_EQ(hand.last().get<SendMessage>().message.generation, 1u);
}

// Four times 200 elements of 8 bytes are more than 1,000 of 4; ef14 loses nothing at a reset. Seen
// to fail with 800 elements, and with four times the budget under ef14.
TEST(Core, AReduceThatStartsAnewIsDenseWhereThatIsSmallerAndUsualWithMovements) {
  for (const Feedback feedback : {Feedback::kEf21, Feedback::kEf14}) {
    CoreOptions options = Hand::default_options();
    options.policy.policy = policy_options("fixed", {{"ratio", "0.2"}});
    options.feedback = feedback;
    Hand hand(two_nodes(), 1, options);
    hand.start();
    const auto send = [&](Round round) {
      hand.feed(GradientDone{round, 1.0, {}});
      if (hand.last().has<TakeMovement>()) hand.feed(MovementTaken{round, false});
      return hand.last().get<AdvanceChannel>();
    };
    const AdvanceChannel usual = send(0);
    ASSERT_EQ(usual.setting.budget, Budget::keep(200));
    hand.feed(advanced(usual));
    const LinkIndex link = *hand.plan.find_link(1, 0);
    hand.feed(MessageApplied{link, {0, 0, 0, Phase::kReduce, ApplyOutcome::kDigestDiffers}});
    hand.apply(hand.from(0, 0, Phase::kGather, 0));
    const AdvanceChannel anew = send(1);
    EXPECT_TRUE(anew.restart);
    EXPECT_EQ(anew.setting.budget, feedback == Feedback::kEf21 ? Budget{} : Budget::keep(200));
  }
}

// Else the gradient would shrink to what one message holds. Seen to fail with the usual size.
TEST(Core, AReduceThatStartsAnewBeginsWithFourTimesItsBudget) {
  Hand hand(two_nodes(), 1);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  const AdvanceChannel usual = hand.last().get<AdvanceChannel>();
  ASSERT_EQ(usual.setting.budget, Budget::keep(100));
  hand.feed(advanced(usual));
  const LinkIndex link = *hand.plan.find_link(1, 0);
  hand.feed(MessageApplied{link, {0, 0, 0, Phase::kReduce, ApplyOutcome::kDigestDiffers}});
  hand.apply(hand.from(0, 0, Phase::kGather, 0));
  hand.feed(GradientDone{1, 1.0, {}});
  EXPECT_TRUE(hand.last().get<AdvanceChannel>().restart);
  EXPECT_EQ(hand.last().get<AdvanceChannel>().setting.budget, Budget::keep(400));
  hand.feed(advanced(hand.last().get<AdvanceChannel>()));
  hand.feed(MessageApplied{link, {1, 1, 0, Phase::kReduce, ApplyOutcome::kApplied}});
  hand.apply(hand.from(0, 0, Phase::kGather, 1));
  hand.feed(GradientDone{2, 1.0, {}});
  EXPECT_EQ(hand.last().get<AdvanceChannel>().setting.budget, Budget::keep(100));
}

TEST(Core, HoldsAMessageThatComesBeforeTheStart) {
  Hand hand(two_nodes(), 0);
  hand.feed(hand.reduce_from(1, 0));
  EXPECT_TRUE(hand.last().empty());
  EXPECT_TRUE(hand.start().has<ApplyMessage>());
}

TEST(Core, RefusesAMessageThatNoPeerOfItsRoundCanSend) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.feed(hand.reduce_from(1, 2));
  EXPECT_EQ(hand.last().get<Finish>().outcome, Outcome::kFailed);
  EXPECT_THAT(hand.last().get<Finish>().text, HasSubstr("link n1->n0, shard 0, reduce"));
  EXPECT_TRUE(hand.last().has<SendHalt>());
}

// Seen to fail where the step was asked for all the same.
TEST(Core, DoesNothingBehindASumOfTheWrongNumberOfNodes) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.reduce_from(1, 0, 2));
  EXPECT_THAT(hand.last().get<Finish>().text, HasSubstr("holds 3 of 2 nodes"));
  EXPECT_TRUE(std::holds_alternative<Finish>(hand.last().actions.back()));
  EXPECT_FALSE(hand.last().has<StepShard>());
}

TEST(Core, PassesOnWhyTheRunIsOverAndSaysItOnce) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.feed(PeerHalted{1, HaltKind::kFailure, "node n7: layer w is not finite"});
  EXPECT_EQ(hand.last().get<SendHalt>().reason, "node n7: layer w is not finite");
  EXPECT_EQ(hand.last().get<Finish>().text, "node n7: layer w is not finite");
  hand.feed(PeerHalted{1, HaltKind::kFailure, "again"});
  EXPECT_TRUE(hand.last().empty()) << "nothing follows Finish";
}

// All nodes learn that it is of no use to start them again. Seen to fail: told as kFailure.
TEST(Core, PassesOnThatAFailureWouldComeAgain) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.feed(WorkFailed{"layer w is not finite", true});
  EXPECT_EQ(hand.last().get<SendHalt>().kind, HaltKind::kPermanent);
  EXPECT_EQ(hand.last().get<Finish>().reason, StopReason::kPermanent);
  Hand other(two_nodes(), 1);
  other.start();
  other.feed(PeerHalted{0, HaltKind::kPermanent, "layer w is not finite"});
  EXPECT_EQ(other.last().get<SendHalt>().kind, HaltKind::kPermanent);
  EXPECT_EQ(other.last().get<Finish>().outcome, Outcome::kFailed);
  EXPECT_EQ(other.last().get<Finish>().reason, StopReason::kPermanent);
}

TEST(Core, BlamesNobodyWhenItSleptItself) {
  Hand hand(two_nodes(), 0);
  hand.start();
  hand.wait(std::chrono::seconds(100));
  hand.feed(Tick{});
  EXPECT_FALSE(hand.last().has<Finish>()) << "this process was stopped, not its peer";
  for (int i = 0; i < 40; ++i) {
    hand.wait(std::chrono::milliseconds(500));
    hand.feed(Tick{});
    if (hand.last().has<Finish>()) break;
  }
  EXPECT_THAT(hand.last().get<Finish>().text, HasSubstr("node n1 has been silent"));
}

TEST(Core, SaysForWhatItWaits) {
  Hand hand(two_nodes(), 0);
  EXPECT_EQ(hand.core.waiting_for(), "the links");
  hand.start();
  EXPECT_EQ(hand.core.waiting_for(),
            "its own gradient of round 0, the first, which may take 1800 s");
  hand.feed(GradientDone{0, 1.0, {}});
  EXPECT_EQ(hand.core.waiting_for(), "link n1->n0, shard 0, reduce (round 0)");
}

TEST(ControlVector, TravelsWholeAndMergesSumsAndMaxima) {
  const ControlVector a{1, 2, 3, 4, 5, 6, 7, 0, 1, {{1, 2, 3, 4, 5}, 0.5, 3, 4, 6}};
  const ControlVector b{1, 1, 1, 1, 1, 9, 1, 1, 0, {{1, 1, 1, 1, 1}, 0.25, 1, 1, 7}};
  EXPECT_EQ(ControlVector::from_control(a.to_control()), a);
  ControlVector sum = a;
  sum.merge(b);
  EXPECT_EQ(sum, (ControlVector{2, 3, 4, 5, 6, 9, 7, 1, 1, {{2, 3, 4, 5, 6}, 0.75, 4, 5, 7}}));
}

TEST(Verdict, TravelsWholeAndABadOneIsHarmless) {
  Verdict verdict;
  verdict.loss = 0.5;
  verdict.exchange_s = 0.25;
  verdict.accuracy = 0.9;
  verdict.accuracy_round = 12;
  verdict.test_loss = 0.3;
  verdict.closing_round = 13;
  verdict.reason = StopReason::kAccuracy;
  verdict.stop = true;
  verdict.ahead = Ahead::kOverlaps;
  verdict.local_steps = 8;
  EXPECT_EQ(Verdict::from_control(verdict.to_control()), verdict);
  Control bad;
  bad.fill(-1e300);
  EXPECT_EQ(Verdict::from_control(bad).closing_round, kNoRound);
  EXPECT_EQ(Verdict::from_control(bad).reason, StopReason::kNone);
  EXPECT_EQ(Verdict::from_control(bad).exchange_s, 0);
  for (const double value : {-1.0, 3.0, 1e300, std::nan("")}) {
    bad.fill(value);
    EXPECT_EQ(Verdict::from_control(bad).ahead, Ahead::kNo) << value;
  }
  for (const double value : {-1.0, 0.5, kLocalStepsMax + 1.0, 1e300, std::nan("")}) {
    bad.fill(value);
    EXPECT_EQ(Verdict::from_control(bad).local_steps, 1u) << value;
  }
  for (const double value : {-1e300, std::nan(""), HUGE_VAL}) {
    bad.fill(value);
    const ExchangeOffer offer = ControlVector::from_control(bad).offer;
    EXPECT_EQ(offer.weight, 0);
    EXPECT_EQ(offer.agreement, 0);
    EXPECT_EQ(offer.agreement_weight, 0);
    EXPECT_EQ(offer.delay[0], 0);
  }
}

// Budgets of all nodes follow this number. Seen to fail with the last round's longest gradient.
TEST(Core, TellsTheMedianOfTheLongestGradients) {
  Hand hand(two_nodes(), 0);
  hand.start();
  const auto told_after = [&](Round round, int own_ms) {
    hand.feed(GradientDone{round, 1.0, std::chrono::milliseconds(own_ms)});
    hand.feed(hand.reduce_from(1, round));
    hand.feed(applied(hand.last().get<ApplyMessage>()));
    hand.feed(StepDone{0, round, 0, {}});
    hand.feed(advanced(hand.last().get<AdvanceChannel>()));
    const Control told = hand.last().get<SendMessage>().message.control;
    hand.feed(hand.gather_applied(1, round, ApplyOutcome::kApplied));
    return 1e3 * Verdict::from_control(told).compute_s;
  };
  EXPECT_FLOAT_EQ(told_after(0, 500), 500) << "the first gradient is all that is known";
  for (Round round = 1; round < 5; ++round) told_after(round, 20);
  EXPECT_FLOAT_EQ(told_after(5, 90), 20) << "a hiccup";
  EXPECT_FLOAT_EQ(told_after(6, 90), 20);
  EXPECT_FLOAT_EQ(told_after(7, 90), 90) << "three of five: gradients take longer now";
}

// One second passes: node 1 is heard over these links, and the clock ticks.
const Answer& second(Hand& hand, std::initializer_list<LinkIndex> heard) {
  hand.wait(std::chrono::seconds(1));
  for (const LinkIndex link : heard) hand.feed(PeerHeard{1, link});
  return hand.feed(Tick{});
}

// Seen to fail: life by node alone.
TEST(Core, NamesALinkThatIsSilentWhileItsNodeIsHeardOverAnother) {
  Hand hand(two_nodes(), 0);
  const LinkIndex there = *hand.plan.find_link(0, 1), back = *hand.plan.find_link(1, 0);
  hand.start();
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(second(hand, {back}).has<Finish>());
  EXPECT_THAT(second(hand, {back}).get<Finish>().text,
              HasSubstr("link n0->n1 has been silent for 11.0 s"));
  Hand other(two_nodes(), 0);
  other.start();
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(second(other, {back, there}).has<Finish>());
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(second(other, {}).has<Finish>());
  EXPECT_THAT(second(other, {}).get<Finish>().text, HasSubstr("node n1 has been silent for"));
}

TEST(Core, EndsARunWhoseFirstGradientTakesLongerThanItsLimit) {
  CoreOptions options = Hand::default_options();
  options.first_gradient = std::chrono::seconds(700);
  Hand hand(two_nodes(), 0, options);
  const LinkIndex there = *hand.plan.find_link(0, 1), back = *hand.plan.find_link(1, 0);
  hand.start();
  for (int i = 0; i < 700; ++i) ASSERT_FALSE(second(hand, {back, there}).has<Finish>()) << i;
  EXPECT_THAT(
      second(hand, {back, there}).get<Finish>().text,
      HasSubstr("node n0 has worked on its first gradient for 701.0 s, and first_gradient"));
}

// Ten times the longest gradient, and dead_after. Seen to fail: check_trainer not called.
TEST(Core, EndsARunWhoseTrainerHangsAndNoOther) {
  Hand hand(two_nodes(), 0);
  const LinkIndex there = *hand.plan.find_link(0, 1), back = *hand.plan.find_link(1, 0);
  hand.start();
  for (int i = 0; i < 500; ++i)
    ASSERT_FALSE(second(hand, {back, there}).has<Finish>()) << "nothing is known of the first";
  hand.feed(GradientDone{0, 1.0, {}});
  Hand trained(two_nodes(), 0);
  trained.start();
  trained.wait(std::chrono::seconds(2));
  trained.round_of_the_server(0);
  ASSERT_TRUE(trained.last().has<ComputeGradient>());
  for (int i = 0; i < 30; ++i) ASSERT_FALSE(second(trained, {back, there}).has<Finish>()) << i;
  EXPECT_THAT(second(trained, {back, there}).get<Finish>().text,
              HasSubstr("node n0 has worked on a gradient for 31.0 s"));
}

// Seen to fail: the channel free again (aborts when the message is encoded).
TEST(Core, PassesOverAnAnswerToAMessageThatIsNotSentYet) {
  Hand hand(two_nodes(), 1);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  const AdvanceChannel work = hand.last().get<AdvanceChannel>();
  const LinkIndex link = *hand.plan.find_link(1, 0);
  hand.feed(MessageApplied{link, {0, 0, 0, Phase::kReduce, ApplyOutcome::kApplied}});
  EXPECT_TRUE(hand.feed(advanced(work)).has<SendMessage>());
}

}  // namespace
}  // namespace kimesh::test::core_test
