// A prediction against the simulation of the same files with a real objective.
#include "kimesh/run/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/objective/quadratic.h"
#include "kimesh/run/options.h"
#include "tests/shipped.h"

namespace kimesh::predict_test {
namespace {

constexpr Round kRunRounds = 220;

struct Job {
  TopologyFile topology;
  RunConfig config;
  Plan plan;
  std::vector<double> weights;
  SimulatedCosts costs;

  Job(const std::string& shipped, const std::string& policy)
      : topology(load_topology(test::shipped_path(shipped)).value) {
    config.quadratic.emplace().dimension = 20'000;
    config.optimizer.lr = 0.05;
    KeyTexts keys{{"policy", policy}};
    if (policy == "fixed") keys.emplace_back("ratio", "0.1");
    config.compression = compression_options(keys);
    config.round_time = std::chrono::milliseconds(200);
    config.stop.rounds = kRunRounds;
    plan = *make_plan(topology, Layout::vector(config.quadratic->dimension));
    weights.assign(topology.nodes.size(), 1.0 / static_cast<double>(topology.nodes.size()));
  }
};

struct SimulatedRun {
  double round_s = 0;
  std::vector<double> bytes_per_round;
};

// Rounds 100 to 199, of every node the slowest.
SimulatedRun simulate(const Job& job) {
  constexpr Round kFirst = 100, kLast = 199;
  constexpr double kCount = kLast - kFirst + 1;
  const QuadraticProblem problem = make_quadratic(*job.config.quadratic, job.weights.size(), {}, 1);
  SimulationSetup setup;
  setup.plan = &job.plan;
  for (NodeIndex i = 0; i < job.weights.size(); ++i) {
    setup.nodes.push_back(simulated_node(job.config, job.topology, i, job.weights,
                                         make_quadratic_objective(problem, i)));
    setup.nodes.back().core.has_test_set = false;
  }
  setup.links = simulated_links(job.topology, job.plan);
  setup.costs = job.costs;
  SimulatedRun taken;
  taken.bytes_per_round.resize(job.plan.links.size());
  std::vector<TimePoint> begun(job.weights.size());
  SimulationObserver observer;
  observer.report = [&](NodeIndex node, TimePoint, const RoundReport& report) {
    if (report.round == kFirst) begun[node] = report.begun;
    if (report.round < kFirst || report.round > kLast) return;
    for (const LinkReport& link : report.links)
      taken.bytes_per_round[link.link] += static_cast<double>(link.bytes) / kCount;
    taken.round_s = std::max(taken.round_s, to_seconds(report.ended - begun[node]) / kCount);
  };
  Simulator simulator(std::move(setup), observer);
  simulator.run();
  return taken;
}

class PredictRun : public testing::TestWithParam<std::string> {};

// Seen to fail: a stand-in simulation whose links have half their rates.
TEST_P(PredictRun, RoundTimeAndBytesAreWithinTenPercentOfTheSimulatedRun) {
  for (const std::string policy : {"none", "fixed", "kimad"}) {
    SCOPED_TRACE(policy);
    const Job job(GetParam(), policy);
    const Prediction prediction =
        predict(job.config, job.topology, job.plan, job.weights, job.costs);
    ASSERT_EQ(prediction.trouble, "");
    const SimulatedRun taken = simulate(job);
    // kimad sizes messages by estimates that depend on their own history: on two-sites, where most
    // links could send all, prediction and run differ by a third. Its rounds stay within the round
    // time: that is what slots are for.
    const bool measures = policy == "kimad";
    EXPECT_NEAR(prediction.round_s, taken.round_s, (measures ? 0.35 : 0.1) * taken.round_s);
    if (measures) {
      EXPECT_LE(taken.round_s, 1.05 * to_seconds(*job.config.round_time));
      continue;
    }
    for (LinkIndex i = 0; i < job.plan.links.size(); ++i) {
      EXPECT_NEAR(prediction.links[i].bytes_per_round, taken.bytes_per_round[i],
                  0.1 * taken.bytes_per_round[i]);
      EXPECT_LE(prediction.links[i].busy, 1 + 1e-6);  // times are whole nanoseconds
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, PredictRun, testing::ValuesIn(test::shipped_without_traces()),
                         [](const auto& name) { return test::shipped_test_name(name.param); });

// A round waits for all steps of the node that takes most. Seen to fail with the time of one.
TEST(Predict, CountsAllLocalSteps) {
  Job job("graph5", "fixed");
  job.config.compression =
      compression_options({{"policy", "fixed"}, {"ratio", "0.1"}, {"feedback", "ef14"}});
  const auto round_s = [&] {
    return predict(job.config, job.topology, job.plan, job.weights, job.costs).round_s;
  };
  const double one_step = round_s();
  job.config.compression.local_steps = 2;
  job.topology.nodes[3].local_steps = 5;
  EXPECT_NEAR(round_s() - one_step, 4 * to_seconds(job.costs.gradient), 0.01 * one_step);
}

TEST(PredictionText, TellsTimeBytesAndWhatIsAssumed) {
  const Job job("graph5", "fixed");
  const Prediction prediction = predict(job.config, job.topology, job.plan, job.weights, job.costs);
  const std::string text = prediction_text(prediction, job.config, job.plan, job.costs);
  for (const char* part :
       {"round ", "220 rounds", "GB in all", "b -> c", "5.00 Mbit/s", "a gradient takes 10.0 ms"})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

}  // namespace
}  // namespace kimesh::predict_test
