// `kimesh plan --predict` against what `kimesh simulate` then takes.
#include "tests/e2e/program.h"
#include "tests/shipped.h"

namespace kimesh::test::predict_test {
namespace {

double figure(const nlohmann::json& json, const std::string& name) {
  for (const auto& entry : json["figures"])
    if (entry["name"] == name) return entry["value"];
  ADD_FAILURE() << "there is no figure " << name;
  return 0;
}

constexpr int kPredictedRounds = 200;

void expect_predicted(const std::string& topology, const std::string& compression) {
  SCOPED_TRACE(topology + " " + compression);
  const Scratch scratch;
  const std::string file = "topologies/" + topology + ".yaml";
  scratch.write("config.yaml",
                "model: {kind: mlp, hidden: [32]}\ndata: {kind: digits, batch: 8}\n"
                "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}\nthreads: 1\n" +
                    compression + "\nstop: {rounds: " + std::to_string(kPredictedRounds) + "}\n");
  const Ended plan = run_program(scratch, {"plan", file, "--config", "config.yaml", "--predict",
                                           "--compute", "5ms", "--json", "plan.json"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  const Ended run = run_program(scratch, {"simulate", "--config", "config.yaml", "--topology", file,
                                          "--compute", "5ms", "--run", "run"});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  const auto json = nlohmann::json::parse(read_text(scratch.path() + "/plan.json"));
  const auto summary = scratch.summary("run");
  const double taken = summary["seconds"].get<double>() / summary["rounds"].get<double>();
  EXPECT_NEAR(figure(json, "round_time"), taken, 0.1 * taken);
  EXPECT_NEAR(figure(json, "run_time") * 3600, summary["seconds"].get<double>(),
              0.1 * summary["seconds"].get<double>());
  for (const auto& link : summary["links"]) {
    const std::string name = link["from"].get<std::string>() + "->" + link["to"].get<std::string>();
    const double bytes = link["bytes_sent"].get<double>() / kPredictedRounds;
    EXPECT_NEAR(figure(json, "round_bytes " + name), bytes, 0.1 * bytes) << name;
  }
}

class Predicted : public testing::TestWithParam<std::string> {};

TEST_P(Predicted, RoundTimeAndBytesAreWithinTenPercentOfTheSimulatedRun) {
  expect_predicted(GetParam(), "compression: {policy: none}");
  expect_predicted(GetParam(), "compression: {policy: fixed, compressor: topk, ratio: 0.1}");
}

INSTANTIATE_TEST_SUITE_P(Shipped, Predicted, testing::ValuesIn(shipped_without_traces()),
                         [](const auto& name) { return shipped_test_name(name.param); });

TEST(Predict, NeedsAConfig) {
  const Scratch scratch;
  const Ended ended = run_program(scratch, {"plan", "topologies/tree7.yaml", "--predict"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("add --config"), std::string::npos) << ended.err;
}

// Time is virtual.
TEST(MaxRate, IsKeptToByANodesLinksTogether) {
  const Scratch scratch;
  scratch.write("config.yaml",
                "quadratic: {dimension: 5000}\noptimizer: {kind: sgd, lr: 0.1}\n"
                "compression: {policy: none}\nstop: {rounds: 20}\n");
  scratch.write("topology.yaml",
                "kind: parameter_server\nnodes:\n"
                "  a: {address: \"tcp://127.0.0.1:7101\", max_rate: 1Mbit}\n"
                "  b: {address: \"tcp://127.0.0.1:7102\"}\n"
                "  c: {address: \"tcp://127.0.0.1:7103\"}\n"
                "links:\n  default: {rate: 20Mbit}\n");
  const Ended run = run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                          "topology.yaml", "--run", "run"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto summary = scratch.summary("run");
  double bits = 0;
  for (const auto& link : summary["links"])
    if (link["from"] == "a") bits += 8 * link["bytes_sent"].get<double>();
  EXPECT_LE(bits / summary["seconds"].get<double>(), 1e6);
  EXPECT_GE(bits / summary["seconds"].get<double>(), 0.8e6) << "it is the bottleneck";
}

}  // namespace
}  // namespace kimesh::test::predict_test
