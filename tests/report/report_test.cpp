#include "kimesh/report/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/report/simulated_run.h"

namespace kimesh::test::report_test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kTimeParts[] = {"compute_s", "encode_s", "apply_s",
                                      "step_s",    "wire_s",   "wait_s"};

class Report : public testing::Test {
 protected:
  void SetUp() override { report_.emplace(report_of({.rounds = 700}, folder_ / "run")); }
  const Folder folder_;
  std::optional<RunReport> report_;
};

TEST_F(Report, TellsInJsonWhatTheRecordsCameTo) {
  const Json json = Json::parse(report_json({&*report_, 1}));
  const Json& run = json["runs"][0];
  EXPECT_EQ(run["name"], "run");
  EXPECT_EQ(run["outcome"], "done");
  EXPECT_EQ(run["nodes"].size(), 4u);
  EXPECT_EQ(run["parameters"], 2000);
  EXPECT_EQ(run["rounds"], 700);
  EXPECT_EQ(run["verdict"], report_->verdict);
  ASSERT_EQ(run["links"].size(), 4u);
  const Json& link = run["links"][0];
  EXPECT_NEAR(link["rate_bits_per_s"].get<double>(), 4e6, 4e5);
  EXPECT_EQ(link["true_rate_bits_per_s"], 4'000'000);
  EXPECT_EQ(link["dense_bytes"], 4 * 6 * 500);  // six messages of a quarter of the model
  EXPECT_GT(link["reduce_contraction"].get<double>(), 0.05);
  EXPECT_LT(link["reduce_contraction"].get<double>(), 1);
  for (const Json& node : run["node_measures"]) {
    double sum = 0;
    for (const char* part : kTimeParts) sum += node[part].get<double>();
    EXPECT_NEAR(sum, report_->measures.mean_round_s, 0.02 * report_->measures.mean_round_s);
    EXPECT_GT(node["wire_s"].get<double>(), 0);
  }
  EXPECT_EQ(run["curves"]["links"].size(), 4u);
  EXPECT_LE(run["curves"]["loss"].size(), kPointsMax);
  EXPECT_EQ(run["curves"]["loss"].size(), run["curves"]["seconds"].size());
  EXPECT_FALSE(run["layers"].is_null());
}

// Seen to fail: a mean that one round without a loss makes unknown.
TEST_F(Report, OfUnknownLossesHoldsNull) {
  for (NodeHistory& node : report_->history.nodes)
    for (RoundRecord& round : node.rounds)
      if (round.round % 2 == 0 || round.round > 300) round.loss = std::nan("");
  const Json run = Json::parse(report_json({&*report_, 1}))["runs"][0];
  EXPECT_TRUE(run["loss"].is_null());
  const Json& curves = run["curves"];
  for (std::size_t i = 0; i < curves["round"].size(); ++i)
    EXPECT_EQ(curves["loss"][i].is_number(), curves["round"][i] < 300) << curves["round"][i];
}

// Seen to fail: a part of the curves that is another one's.
TEST_F(Report, HasCurvesWhosePartsAddUpToTheRound) {
  const Json run = Json::parse(report_json({&*report_, 1}))["runs"][0];
  const Json& round_s = run["curves"]["round_s"];
  for (const Json& node : run["curves"]["nodes"])
    for (std::size_t i = 0; i < round_s.size(); ++i) {
      double sum = 0;
      for (const char* part : kTimeParts) sum += node[part][i].get<double>();
      EXPECT_NEAR(sum, round_s[i].get<double>(), 0.05 * round_s[i].get<double>()) << i;
    }
}

// The clock of the last point is the run's, and every point lies after the one before.
TEST_F(Report, HasCurvesOverTheRunsClock) {
  const Json json = Json::parse(report_json({&*report_, 1}));
  const Json& run = json["runs"][0];
  double last = -1;
  for (const Json& seconds : run["curves"]["seconds"]) {
    EXPECT_GT(seconds.get<double>(), last);
    last = seconds.get<double>();
  }
  EXPECT_NEAR(run["seconds"].get<double>(), report_->measures.mean_round_s * 700,
              0.1 * report_->measures.mean_round_s * 700);
}

// A page works without a network, from a file, and a name of a run ends no element of it.
TEST_F(Report, IsAPageThatNeedsNothingElse) {
  report_->history.name = "</script><b>&run";
  const std::string page = report_html({&*report_, 1});
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<b>&run")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_LT(page.size(), std::size_t{1} << 20);
}

TEST_F(Report, TellsInWordsWhatThePageDraws) {
  const std::string text = report_markdown({&*report_, 1});
  EXPECT_THAT(text, HasSubstr("# run\n"));
  EXPECT_THAT(text, HasSubstr("| a->b | "));
  EXPECT_THAT(text, HasSubstr("Nothing stands out"));
}

// What is too much is not read: a line that is no record would be said.
// Seen to fail: the files of before left out of the sum.
TEST_F(Report, IsNotMadeQuicklyOfMoreThanItsBytes) {
  const std::string path = folder_ / "run";
  const RunFolder run(path);
  std::filesystem::rename(run.events("a"), run.earlier_events("a"));
  std::uintmax_t bytes = std::filesystem::file_size(run.earlier_events("a"));
  for (const char* name : {"b", "c", "d"}) bytes += std::filesystem::file_size(run.events(name));
  const auto verdict = quick_verdict(load_run(path).value(), bytes);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(*verdict, report_->verdict);
  std::ofstream(run.events("b"), std::ios::app) << "?\n";
  const auto other = quick_verdict(load_run(path).value(), bytes + 1);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(*other, "`kimesh report " + path + "` tells");
  EXPECT_FALSE(quick_verdict(load_run(path).value(), bytes + 2).ok());
}

TEST_F(Report, LaysSeveralRunsOverEachOther) {
  const RunReport both[] = {*report_, *report_};
  const Json json = Json::parse(report_json(both));
  EXPECT_EQ(json["runs"].size(), 2u);
}

// The curves of a mesh of many links get fewer points each.
TEST_F(Report, OfAThousandLinksIsBounded) {
  RunHistory& history = report_->history;
  history.topology = topology_of(33, "parameter_server");
  auto plan = make_plan(history.topology, Layout::vector(2000));
  ASSERT_TRUE(plan.ok());
  history.plan = std::move(*plan);
  history.nodes.assign(33, history.nodes[0]);
  for (NodeHistory& node : history.nodes)
    for (RoundRecord& round : node.rounds) {
      const LinkRecord link = round.links[0];
      round.links.assign(33, link);
      for (NodeIndex to = 0; to < 33; ++to) round.links[to].to = history.plan.view.nodes[to];
    }
  const auto measures = measure(history);
  ASSERT_TRUE(measures);
  report_->measures = *measures;
  EXPECT_LT(report_html({&*report_, 1}).size(), std::size_t{5} << 20);
}

}  // namespace
}  // namespace kimesh::test::report_test
