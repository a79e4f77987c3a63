#include "kimesh/report/what_if.h"

#include <gmock/gmock.h>

#include "tests/report/simulated_run.h"

namespace kimesh::test {
namespace {

using std::chrono::milliseconds;

RunSpec ring_with(const std::string& rate) {
  return {.links = "default: {rate: 10Mbit}\n  c->d: {rate: " + rate + "}"};
}

// The answer is held against the run that the question is about.
TEST(WhatIf, ALinkOfTwiceTheRateBringsWhatSuchARunHas) {
  const Folder folder;
  const RunReport slow = report_of(ring_with("200kbit"), folder / "slow");
  const RunReport fast = report_of(ring_with("400kbit"), folder / "fast");
  const WhatIf what_if(slow.history, slow.measures);
  ASSERT_EQ(what_if.trouble(), "");
  const auto link = slow.history.plan.find_link(2, 3);
  const auto outcomes = what_if.relative({.faster_link = link});
  ASSERT_TRUE(outcomes);
  const double truth = fast.measures.mean_round_s / slow.measures.mean_round_s;
  EXPECT_NEAR(outcomes->round, truth, 0.1 * truth);
  EXPECT_LT(outcomes->round, 0.8);
}

TEST(WhatIf, ANodeAsFastAsTheOthersBringsWhatSuchARunHas) {
  const Folder folder;
  RunSpec spec;
  const RunReport even = report_of(spec, folder / "even");
  spec.costs.node_gradients = {milliseconds(10), milliseconds(10), milliseconds(40),
                               milliseconds(10)};
  const RunReport uneven = report_of(spec, folder / "uneven");
  const WhatIf what_if(uneven.history, uneven.measures);
  ASSERT_EQ(what_if.trouble(), "");
  const auto outcomes = what_if.relative({.faster_node = NodeIndex{2}});
  ASSERT_TRUE(outcomes);
  const double truth = even.measures.mean_round_s / uneven.measures.mean_round_s;
  EXPECT_NEAR(outcomes->round, truth, 0.1 * truth);
}

TEST(WhatIf, AMeshThatBehavesOtherwiseIsNotBelieved) {
  const Folder folder;
  RunReport report = report_of({}, folder / "run");
  report.measures.mean_round_s *= 3;
  const WhatIf what_if(report.history, report.measures);
  EXPECT_THAT(what_if.trouble(), testing::HasSubstr("its rounds take"));
}

TEST(WhatIf, FindingsSayWhatOtherMeshesWouldBring) {
  const Folder folder;
  const RunReport report = report_of(ring_with("200kbit"), folder / "run", WhatIfUse::kAllowed);
  EXPECT_THAT(text_of(report, "slow-link"), testing::HasSubstr("With twice its rate a round"));
}

}  // namespace
}  // namespace kimesh::test
