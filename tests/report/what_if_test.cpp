#include "kimesh/report/what_if.h"

#include <gmock/gmock.h>

#include "tests/report/simulated_run.h"

namespace kimesh::test::what_if_test {
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

TEST(WhatIf, TwiceTheLocalStepsAreSimulated) {
  const Folder folder;
  const RunReport report =
      report_of({.compression = "{policy: fixed, compressor: topk, ratio: 0.05, feedback: ef14}",
                 .links = "default: {rate: 200kbit}"},
                folder / "run", WhatIfUse::kAllowed);
  EXPECT_THAT(text_of(report, "slow-link"),
              testing::HasSubstr("With twice the local_steps a step would take"));
}

// What is said to come of other joins is held against the run of a mesh that has them.
// Seen to fail: the longest of the arrangements in place of the shortest.
TEST(WhatIf, OtherJoinsBringWhatSuchARunHas) {
  const Folder folder;
  RunSpec spec = ring_with("200kbit");
  spec.costs.node_gradients = {milliseconds(10), milliseconds(10), milliseconds(12),
                               milliseconds(10)};
  const RunReport ring = report_of(spec, folder / "ring");
  const WhatIf what_if(ring.history, ring.measures);
  ASSERT_EQ(what_if.trouble(), "");
  const auto other = what_if.other_joins();
  ASSERT_TRUE(other);
  ASSERT_EQ(other->text, "parameter_server: servers a, b");
  EXPECT_TRUE(other->emulated);
  EXPECT_EQ(other->unknown_pairs, 0u);
  spec.links = "default: {rate: 10Mbit}";  // c sends nothing to d
  spec.kind = "parameter_server\nservers: [a, b]";
  const RunReport servers = report_of(spec, folder / "servers");
  const double truth = servers.measures.mean_round_s / ring.measures.mean_round_s;
  EXPECT_NEAR(other->round, truth, 0.1 * truth);
}

// Where nothing is emulated, only links that have sent are known, and of a ring these join its
// nodes in no other way.
// Seen to fail: max_rate taken for an emulated rate.
TEST(WhatIf, WithoutEmulationOnlyMeasuredRatesCount) {
  const Folder folder;
  RunReport report = report_of(ring_with("200kbit"), folder / "run");
  report.history.topology.default_link.rate.reset();
  report.history.topology.links.clear();
  for (NodeSpec& node : report.history.topology.nodes) node.max_rate_bits_per_s = 1e9;
  const WhatIf what_if(report.history, report.measures);
  ASSERT_EQ(what_if.trouble(), "");
  const auto other = what_if.other_joins();
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->emulated);
  EXPECT_EQ(other->unknown_pairs, 8u);
  EXPECT_THAT(other->text, testing::HasSubstr("ring: a > b > c > d"));
}

// A codec that is not conservative is for one hop, whatever a ring would bring.
// Seen to fail: joins that the config does not go with.
TEST(WhatIf, JoinsThatTheConfigDoesNotAllowAreNone) {
  const Folder folder;
  RunSpec spec{.compression = "{policy: fixed, compressor: natural}",
               .links =
                   "default: {rate: 50kbit}\n  a->b: {rate: 10Mbit}\n  b->c: {rate: 10Mbit}\n"
                   "  c->d: {rate: 10Mbit}\n  d->a: {rate: 10Mbit}",
               .kind = "parameter_server\nservers: all"};
  const RunReport report = report_of(spec, folder / "run");
  const WhatIf what_if(report.history, report.measures);
  ASSERT_EQ(what_if.trouble(), "");
  const auto other = what_if.other_joins();
  ASSERT_TRUE(other);
  EXPECT_THAT(other->text, testing::StartsWith("parameter_server")) << other->text;
}

}  // namespace
}  // namespace kimesh::test::what_if_test
