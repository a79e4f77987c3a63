// What a core waits for, and when it gives up what hangs while heartbeats go on.
#include <gmock/gmock.h>

#include "tests/round/hand.h"

namespace kimesh::test::liveness_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// A second in which both links are heard.
const Answer& second(Hand& hand) {
  hand.wait(seconds(1));
  for (LinkIndex link = 0; link < hand.plan.links.size(); ++link) hand.feed(PeerHeard{1, link});
  return hand.feed(Tick{});
}

// Ticks until the core ends the run; the seconds that this took.
int seconds_to_the_end(Hand& hand, int most) {
  for (int i = 1; i <= most; ++i)
    if (second(hand).has<Finish>()) return i;
  ADD_FAILURE() << "no end in " << most << " s";
  return most;
}

// The messages of the server's round, and their work.
void exchange(Hand& hand, Round round) {
  hand.apply(hand.reduce_from(1, round));
  hand.feed(StepDone{0, round, 0, {}});
  hand.feed(advanced(hand.last().get<AdvanceChannel>()));
  hand.feed(hand.gather_applied(1, round, ApplyOutcome::kApplied));
}

// Rounds whose gradient takes a second, and which wait another one for n1.
void train(Hand& hand, Round rounds) {
  hand.start();
  for (Round round = 0; round < rounds; ++round) {
    ASSERT_FALSE(second(hand).has<Finish>());
    hand.feed(GradientDone{round, 1.0, {}});
    ASSERT_FALSE(second(hand).has<Finish>());
    exchange(hand, round);
  }
}

CoreOptions options_with(Duration dead_after) {
  CoreOptions options = Hand::default_options();
  options.dead_after = dead_after;
  options.first_gradient = seconds(700);
  return options;
}

// 120 times dead_after, and what dense messages of 4 kB may take. Seen to fail: check_wait not
// called; heartbeats taken for progress.
TEST(Liveness, APeerThatIsHeardAndDoesNothingEndsTheRun) {
  Hand hand(two_nodes(), 0, options_with(seconds(10)));
  train(hand, 3);
  hand.feed(GradientDone{3, 1.0, {}});
  const int took = seconds_to_the_end(hand, 2000);
  EXPECT_GE(took, 1200);
  EXPECT_LE(took, 1210);
  EXPECT_THAT(hand.last().get<Finish>().text,
              HasSubstr("node n0 has waited for link n1->n0, shard 0, reduce (round 3) for 12"));
  EXPECT_THAT(hand.last().get<Finish>().text, HasSubstr("one of them hangs"));
  EXPECT_TRUE(hand.last().has<SendHalt>());
}

// Whoever has waited long before may wait longer. Seen to fail: the limit that knows no waits.
TEST(Liveness, ARunWhoseWaitsAreLongIsGivenTenTimesTheLongest) {
  Hand hand(two_nodes(), 0, options_with(seconds(10)));
  train(hand, 2);
  hand.feed(GradientDone{2, 1.0, {}});
  for (int i = 0; i < 300; ++i) ASSERT_FALSE(second(hand).has<Finish>()) << i;
  exchange(hand, 2);
  second(hand);
  hand.feed(GradientDone{3, 1.0, {}});
  const int took = seconds_to_the_end(hand, 4000);
  EXPECT_GE(took, 3000);
  EXPECT_LE(took, 3020);
}

// A process that was stopped itself knows nothing of the others.
TEST(Liveness, TheTimeOfAProcessThatWasStoppedCountsForNothing) {
  Hand hand(two_nodes(), 0, options_with(seconds(10)));
  train(hand, 3);
  hand.feed(GradientDone{3, 1.0, {}});
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(second(hand).has<Finish>()) << i;
  hand.wait(std::chrono::hours(10));
  ASSERT_FALSE(hand.feed(Tick{}).has<Finish>());
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(second(hand).has<Finish>()) << i;
}

// A stop in the middle of a short round: at the first tick after it the node already waits for
// something else. Seen to fail where the stop counts as a wait, of which a later one may last ten
// times as long.
TEST(Liveness, AStopBetweenTwoWaitsIsNoWait) {
  Hand hand(two_nodes(), 0, options_with(seconds(10)));
  train(hand, 2);
  hand.feed(GradientDone{2, 1.0, {}});
  ASSERT_FALSE(second(hand).has<Finish>());
  exchange(hand, 2);
  hand.wait(std::chrono::hours(2));
  ASSERT_FALSE(hand.feed(Tick{}).has<Finish>());
  hand.feed(GradientDone{3, 1.0, {}});
  EXPECT_LE(seconds_to_the_end(hand, 4000), 1220);
}

// A worker that has all gathers sends its next reduce before this server has its own gathers. Seen
// to fail where the wait is for that worker.
TEST(Liveness, AReduceThatIsEarlyIsNotWaitedFor) {
  TopologyFile topology = nodes_of(3);
  topology.kind = topology_kinds().make("parameter_server");
  topology.servers = {0, 1};
  Hand hand(*make_plan(topology, Layout::vector(1000)), 0, options_with(seconds(10)));
  hand.start();
  const auto advance_all = [&] {
    std::vector<AdvanceChannel> works;
    for (const AdvanceChannel* work : hand.last().all<AdvanceChannel>()) works.push_back(*work);
    ASSERT_FALSE(works.empty());
    for (const AdvanceChannel& work : works) hand.feed(advanced(work));
  };
  hand.feed(GradientDone{0, 1.0, {}});
  advance_all();
  hand.apply(hand.reduce_from(1, 0));
  hand.apply(hand.reduce_from(2, 0));
  hand.feed(StepDone{0, 0, 0, {}});
  advance_all();
  hand.apply(hand.reduce_from(2, 1));
  second(hand);
  EXPECT_EQ(hand.core.wait().what, "link n1->n0, shard 1, gather (round 0)");
}

// 40 times dead_after. Seen to fail: check_vector_work not called; a second piece of work that is
// asked for taken for progress.
TEST(Liveness, VectorWorkThatHangsEndsTheRunByTheNodesName) {
  Hand hand(two_nodes(), 1, options_with(seconds(10)));
  hand.start();
  second(hand);
  ASSERT_TRUE(hand.feed(GradientDone{0, 1.0, {}}).has<AdvanceChannel>());
  const int took = seconds_to_the_end(hand, 1000);
  EXPECT_EQ(took, 401);
  EXPECT_THAT(hand.last().get<Finish>().text,
              HasSubstr("node n1 has worked on the vectors of round 0 for 401 s"));
}

// Said where a wait is unusual against those of the last rounds, so that one long wait does not
// hide the next ones for ever. Seen to fail: the longest wait of the run in the place of the last
// rounds'.
TEST(Liveness, AWaitIsUnusualAgainstThoseOfTheLastRounds) {
  Hand hand(two_nodes(), 0, options_with(seconds(10)));
  train(hand, 2);
  hand.feed(GradientDone{2, 1.0, {}});
  for (int i = 0; i < 100; ++i) second(hand);
  EXPECT_TRUE(hand.core.wait().is_unusual());
  EXPECT_EQ(hand.core.wait().waited, seconds(100) - seconds(1)) << "seen at the first tick of it";
  EXPECT_EQ(hand.core.wait().what, "link n1->n0, shard 0, reduce (round 2)");
  exchange(hand, 2);
  Round round = 3;
  for (; round < 100; ++round) {
    second(hand);
    hand.feed(GradientDone{round, 1.0, {}});
    for (int i = 0; i < 20; ++i) {
      second(hand);
      EXPECT_FALSE(hand.core.wait().is_unusual()) << round;
    }
    exchange(hand, round);
  }
  second(hand);
  hand.feed(GradientDone{round, 1.0, {}});
  for (int i = 0; i < 60; ++i) second(hand);
  EXPECT_TRUE(hand.core.wait().is_unusual()) << "though it is shorter than that of round 2";
}

}  // namespace
}  // namespace kimesh::test::liveness_test
