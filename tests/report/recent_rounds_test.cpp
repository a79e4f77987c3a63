#include "kimesh/report/recent_rounds.h"

#include <gmock/gmock.h>

#include "tests/report/simulated_run.h"

namespace kimesh::test::recent_rounds_test {
namespace {

using testing::HasSubstr;

RunHistory without_records(RunHistory history) {
  history.nodes.clear();
  return history;
}

// Gives all nodes' rounds as a live view gets them, and asks after each. How often there was work.
std::size_t feed(RecentRounds& recent, const RunHistory& history) {
  for (std::size_t i = 0; i < history.nodes[0].rounds.size(); ++i)
    for (NodeIndex node = 0; node < history.nodes.size(); ++node) {
      recent.add(node, history.nodes[node].rounds[i]);
      static_cast<void>(recent.verdict());
    }
  return recent.looks();
}

// Seen to fail: rounds kept that a resume has made void.
TEST(RecentRounds, SayWhatTheReportSays) {
  const Folder folder;
  RunReport report =
      report_of({.links = "default: {rate: 10Mbit}\n  c->d: {rate: 200kbit}"}, folder / "run");
  RecentRounds recent(without_records(report.history));
  EXPECT_EQ(recent.verdict(), "");
  feed(recent, report.history);
  EXPECT_THAT(recent.verdict(), testing::StartsWith("Link c->d makes rounds long: it sends "));
  for (NodeHistory& node : report.history.nodes)
    for (RoundRecord& round : node.rounds) round.compute_s = round.round_s;
  feed(recent, report.history);  // as after a resume
  EXPECT_THAT(recent.verdict(), HasSubstr("takes 100 % of a round"));
}

// Rounds that were healthy long ago do not hide what is wrong now.
// Seen to fail: all rounds kept.
TEST(RecentRounds, AreTheLastOnes) {
  const Folder folder;
  RunSpec spec{.rounds = 1000};
  RunHistory history = report_of(spec, folder / "run").history;
  for (NodeHistory& node : history.nodes)
    for (RoundRecord& round : node.rounds)
      if (round.round > 850) round.compute_s = round.round_s;
  RecentRounds recent(without_records(history));
  feed(recent, history);
  EXPECT_THAT(recent.verdict(), HasSubstr("compute-bound"));
}

// Whatever the length of a run and however often it is asked.
// Seen to fail: a look at each question.
TEST(RecentRounds, WorkIsBoundedByWhatIsNew) {
  const Folder folder;
  const RunHistory history = report_of({.rounds = 1000}, folder / "run").history;
  RecentRounds recent(without_records(history));
  EXPECT_EQ(recent.kept(), RecentRounds::kRoundsMax);
  const std::size_t looks = feed(recent, history);
  EXPECT_GT(looks, 10u);
  // A quarter of 200 rounds is new each time, and more often at the begin, with fewer to look at.
  EXPECT_LT(looks, 1000 / 50 + 20);
}

TEST(RecentRounds, OfAMeshOfManyLinksAreFewerAndThenNone) {
  const auto kept = [](std::size_t nodes) {
    RunHistory history;
    history.folder = "runs/many";
    history.topology = topology_of(nodes, "parameter_server");
    auto plan = make_plan(history.topology, Layout::vector(2000));
    EXPECT_TRUE(plan.ok());
    history.plan = std::move(*plan);
    return RecentRounds(std::move(history));
  };
  EXPECT_EQ(kept(2).kept(), RecentRounds::kRoundsMax);
  RecentRounds some = kept(25);
  EXPECT_EQ(some.kept(), RecentRounds::kLinkRecordsMax / (25 * 24));
  EXPECT_EQ(some.verdict(), "");
  RecentRounds none = kept(40);
  EXPECT_EQ(none.kept(), 0u);
  none.add(0, RoundRecord{});
  EXPECT_EQ(none.verdict(), "`kimesh report runs/many` tells");
  EXPECT_EQ(none.looks(), 0u);
}

}  // namespace
}  // namespace kimesh::test::recent_rounds_test
