// The core alone, fed by hand, where nodes pass on what others sent: rings and trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/round/core.h"
#include "tests/round/hand.h"

namespace kimesh::test::shapes_test {
namespace {

using testing::HasSubstr;

// Node 1 of n0 -> n1 -> n2 -> n0. It begins shard 0's way to its owner, passes shard 2 on, and owns
// shard 1.
struct MiddleOfARing : testing::Test {
  Hand hand{ring_of(3), 1};

  const Channel& channel_of(const AdvanceChannel& work) const {
    return hand.plan.channels[work.channel];
  }
  // The only advance of the last answer.
  void expect_advance(ShardIndex shard, Phase phase, std::size_t terms) {
    ASSERT_EQ(hand.last().count<AdvanceChannel>(), 1u);
    const auto& work = hand.last().get<AdvanceChannel>();
    EXPECT_EQ(channel_of(work).shard, shard);
    EXPECT_EQ(channel_of(work).phase, phase);
    EXPECT_EQ(work.terms.size(), terms);
  }
  // All that the node does in a round.
  void whole_round(Round round) {
    hand.feed(GradientDone{round, 1.0, {}});
    hand.apply(hand.from(0, 2, Phase::kReduce, round));
    hand.apply(hand.from(0, 1, Phase::kReduce, round));
    hand.feed(StepDone{1, round, 0, {}});
    hand.feed(advanced(hand.last().get<AdvanceChannel>()));
    hand.apply(hand.from(0, 0, Phase::kGather, round));
    hand.apply(hand.from(0, 2, Phase::kGather, round));
  }
};

TEST_F(MiddleOfARing, BeginsOneShardAndPassesAnotherOnWhenItsChildsPartIsApplied) {
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  expect_advance(0, Phase::kReduce, 1);
  hand.feed(hand.from(0, 2, Phase::kReduce, 0));
  EXPECT_FALSE(hand.last().has<AdvanceChannel>()) << "not before it is applied";
  hand.feed(applied(hand.last().get<ApplyMessage>()));
  expect_advance(2, Phase::kReduce, 2);
  EXPECT_EQ(hand.last().get<AdvanceChannel>().terms[0].kind, BufferId::Kind::kContribution);
  EXPECT_EQ(hand.last().get<AdvanceChannel>().terms[1].kind, BufferId::Kind::kEstimate);
}

TEST_F(MiddleOfARing, StepsItsOwnShardAndSendsItToTheNextNode) {
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.from(0, 1, Phase::kReduce, 0));
  EXPECT_EQ(hand.last().get<StepShard>().shard, 1);
  EXPECT_EQ(hand.last().get<StepShard>().terms.size(), 2u) << "its own part and the ring's sum";
  hand.feed(StepDone{1, 0, 0, {}});
  expect_advance(1, Phase::kGather, 1);
}

// Its gradients are taken where its first child's are, so that w[s] moves by what it sends. Seen to
// fail with a round that ends once the shard is stepped.
TEST_F(MiddleOfARing, HoldsItsOwnShardsStepOnceTheMessageThatMovesItsCopyIsMade) {
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.from(0, 2, Phase::kReduce, 0));
  hand.apply(hand.from(0, 1, Phase::kReduce, 0));
  hand.feed(StepDone{1, 0, 0, {}});
  const AdvanceChannel lead = hand.last().get<AdvanceChannel>();
  EXPECT_EQ(lead.terms[0], (BufferId{BufferId::Kind::kOwned, 1}));
  EXPECT_EQ(lead.estimate, (BufferId{BufferId::Kind::kParameters, 1}));
  hand.apply(hand.from(0, 0, Phase::kGather, 0));
  hand.apply(hand.from(0, 2, Phase::kGather, 0));
  EXPECT_FALSE(hand.last().has<ComputeGradient>());
  hand.feed(advanced(lead));
  EXPECT_TRUE(hand.last().has<SendMessage>());
  EXPECT_EQ(hand.last().get<ComputeGradient>().round, 1u);
}

TEST_F(MiddleOfARing, PassesAGatherOnButNotBackToItsOwner) {
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.from(0, 0, Phase::kGather, 0));
  EXPECT_TRUE(hand.last().has<SendApplied>());
  expect_advance(0, Phase::kGather, 1);
  hand.apply(hand.from(0, 2, Phase::kGather, 0));
  EXPECT_TRUE(hand.last().has<SendApplied>());
  EXPECT_FALSE(hand.last().has<AdvanceChannel>()) << "n2 owns it";
}

TEST_F(MiddleOfARing, EndsItsRoundWhenAllShardsAreCurrent) {
  hand.start();
  whole_round(0);
  EXPECT_EQ(hand.last().get<Report>().round.round, 0u);
  EXPECT_EQ(hand.last().get<ComputeGradient>().round, 1u);
}

// Seen to fail: may_apply that says yes while a gradient runs.
TEST_F(MiddleOfARing, HoldsAGatherWhileItsGradientRuns) {
  hand.start();
  hand.feed(hand.from(0, 0, Phase::kGather, 0));
  EXPECT_FALSE(hand.last().has<ApplyMessage>()) << "the parameters are read";
  hand.feed(GradientDone{0, 1.0, {}});
  EXPECT_EQ(hand.last().get<ApplyMessage>().channel,
            *hand.plan.find_channel(*hand.plan.find_link(0, 1), 0, Phase::kGather));
}

// n0 had its gathers before us, and is a round ahead. Its part is added to an estimate that this
// round has used already. Seen to fail: may_apply without the next round.
TEST_F(MiddleOfARing, AppliesAChildsNextMessageOnceThisRoundHasUsedItsLast) {
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.from(0, 2, Phase::kReduce, 0));
  hand.feed(hand.from(0, 2, Phase::kReduce, 1));
  EXPECT_TRUE(hand.last().has<ApplyMessage>());
  hand.feed(hand.from(0, 1, Phase::kReduce, 1));
  EXPECT_TRUE(hand.last().empty()) << "of this shard the message of round 0 is not used yet";
}

TEST_F(MiddleOfARing, RefusesWhatThePlanDoesNotKnow) {
  hand.start();
  hand.feed(hand.from(0, 0, Phase::kReduce, 0));  // shard 0 begins its way here
  EXPECT_THAT(hand.last().get<Finish>().text,
              HasSubstr("node n0 sent a message that the plan does not know"));
}

TEST_F(MiddleOfARing, RefusesNewsThatThePlanDoesNotKnow) {
  hand.start();
  hand.feed(MessageApplied{*hand.plan.find_link(1, 2), {0, 0, 7, Phase::kReduce}});
  EXPECT_THAT(hand.last().get<Finish>().text,
              HasSubstr("node n2 applied a message that the plan does not know"));
}

// n3 and n4 hang on n1; n1 and n2 on the root n0.
Plan two_levels() {
  return tree_of({0, 0, 0, 1, 1});
}

TEST(Tree, AnInnerNodeSendsItsPartWhenAllItsChildrensAreAppliedInNodeOrder) {
  Hand hand(two_levels(), 1);
  hand.start();
  hand.apply(hand.reduce_from(4, 0));
  hand.feed(GradientDone{0, 1.0, {}});
  EXPECT_FALSE(hand.last().has<AdvanceChannel>()) << "n3 is missing";
  hand.apply(hand.reduce_from(3, 0));
  const auto& work = hand.last().get<AdvanceChannel>();
  ASSERT_EQ(work.terms.size(), 3u);
  EXPECT_EQ(hand.plan.link_of(work.terms[1].index).from, 3) << "whichever came first";
  EXPECT_EQ(hand.plan.link_of(work.terms[2].index).from, 4);
  hand.feed(advanced(work));
  const auto& sent = hand.last().get<SendMessage>();
  EXPECT_EQ(hand.plan.links[sent.link].to, 0);
  EXPECT_EQ(ControlVector::from_control(sent.message.control).nodes, 3);
}

TEST(Tree, TheRootStepsWithBothOfItsSubtrees) {
  Hand hand(two_levels(), 0);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.reduce_from(1, 0, 3));
  EXPECT_FALSE(hand.last().has<StepShard>());
  hand.apply(hand.reduce_from(2, 0, 1));
  EXPECT_EQ(hand.last().get<StepShard>().terms.size(), 3u);
}

// Seen to fail: decide_verdict without its count of nodes.
TEST(Tree, ASumWithoutAllNodesEndsTheRun) {
  Hand hand(two_levels(), 0);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  hand.apply(hand.reduce_from(1, 0, 2));
  hand.apply(hand.reduce_from(2, 0, 1));
  EXPECT_THAT(hand.last().get<Finish>().text, HasSubstr("holds 4 of 5 nodes"));
}

// Seen to fail: a turn that waits for all channels of the shard.
TEST(Tree, AChildThatIsLateKeepsOnlyItsOwnChannelWaiting) {
  Hand hand(two_levels(), 1);
  hand.start();
  const auto round = [&](Round of) {
    hand.feed(GradientDone{of, 1.0, {}});
    hand.apply(hand.reduce_from(3, of));
    hand.apply(hand.reduce_from(4, of));
    hand.feed(advanced(hand.last().get<AdvanceChannel>()));
    hand.feed(MessageApplied{*hand.plan.find_link(1, 0), {of, 0, 0, Phase::kReduce}});
    hand.apply(hand.from(0, 0, Phase::kGather, of));
  };
  round(0);
  ASSERT_EQ(hand.last().count<AdvanceChannel>(), 2u) << "to n3 and to n4";
  std::vector<AdvanceDone> ends;
  for (const AdvanceChannel* work : hand.last().all<AdvanceChannel>())
    ends.push_back(advanced(*work));
  for (AdvanceDone& end : ends) hand.feed(std::move(end));
  hand.feed(hand.gather_applied(3, 0, ApplyOutcome::kApplied));
  round(1);
  ASSERT_EQ(hand.last().count<AdvanceChannel>(), 1u) << "n4 has not said that round 0 is applied";
  EXPECT_EQ(hand.plan.link_of(hand.last().get<AdvanceChannel>().channel).to, 3);
  hand.feed(hand.gather_applied(4, 0, ApplyOutcome::kApplied));
  EXPECT_EQ(hand.plan.link_of(hand.last().get<AdvanceChannel>().channel).to, 4);
}

TEST(Tree, ALeafSendsItsPartAtOnceAndPassesNothingOn) {
  Hand hand(two_levels(), 4);
  hand.start();
  hand.feed(GradientDone{0, 1.0, {}});
  EXPECT_EQ(hand.last().count<AdvanceChannel>(), 1u);
  hand.apply(hand.from(1, 0, Phase::kGather, 0));
  EXPECT_FALSE(hand.last().has<AdvanceChannel>());
  EXPECT_EQ(hand.last().get<ComputeGradient>().round, 1u);
}

}  // namespace
}  // namespace kimesh::test::shapes_test
