// `lr: theory`: the number that it stands for, where it may stand, and that runs converge with it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kimesh/objective/quadratic.h"
#include "kimesh/run/check_together.h"
#include "kimesh/run/options.h"
#include "kimesh/run/run_config.h"
#include "tests/config/text_file.h"
#include "tests/run/stand_in_models.h"

namespace kimesh::theory_test {
namespace {

RunConfig config_of(const std::string& sections) {
  const TextFile file("config.yaml", sections);
  auto loaded = load_config(file.path());
  for (const Problem& problem : loaded.problems) ADD_FAILURE() << to_string(problem);
  return loaded.value;
}

TopologyFile topology_of(const std::string& kind) {
  std::string text = "kind: " + kind + "\nnodes:\n";
  for (const char* name : {"a", "b", "c"})
    text += fmt::format("  {}: {{address: \"tcp://127.0.0.1:{}\"}}\n", name, 7101 + name[0]);
  const TextFile file("topology.yaml", text);
  auto loaded = load_topology(file.path());
  for (const Problem& problem : loaded.problems) ADD_FAILURE() << to_string(problem);
  return loaded.value;
}

const std::string kQuadratic =
    "quadratic: {dimension: 60, condition: 10, heterogeneity: 1}\n"
    "optimizer: {kind: sgd, lr: theory}\nstop: {rounds: 4000}\nseed: 3\n";
const std::string kTopk = "compression: {policy: fixed, compressor: topk, ratio: 0.3}\n";

struct Prepared {
  RunConfig config;
  TopologyFile topology;
  QuadraticProblem problem;
  Plan plan;
};

Prepared prepare(const std::string& compression) {
  Prepared p{config_of(kQuadratic + compression), topology_of("parameter_server"), {}, {}};
  p.problem = make_quadratic(*p.config.quadratic, 3, std::vector<double>(3, 1.0 / 3), 3);
  p.plan = *make_plan(p.topology, Layout::vector(p.problem.dimension));
  p.config.optimizer.lr = theory_learning_rate(
      p.config, Smoothness{p.problem.smoothness(), p.problem.smoothness_of_parts()}, p.plan);
  return p;
}

// ‖∇f‖² at the owners' parameters after all rounds.
double gradient_after_a_run(const Prepared& p) {
  SimulationSetup setup;
  setup.plan = &p.plan;
  const std::vector<double> weights(3, 1.0 / 3);
  for (NodeIndex i = 0; i < 3; ++i)
    setup.nodes.push_back(
        simulated_node(p.config, p.topology, i, weights, make_quadratic_objective(p.problem, i)));
  setup.links = simulated_links(p.topology, p.plan);
  Simulator simulator(std::move(setup), {});
  simulator.run();
  EXPECT_EQ(simulator.end(0).outcome, Outcome::kDone) << simulator.end(0).text;
  return p.problem.gradient_norm_squared(simulator.owners_parameters());
}

TEST(Theory, IsTheInverseOfTheCurvatureWhereNothingIsDropped) {
  const Prepared p = prepare("");
  EXPECT_DOUBLE_EQ(p.config.optimizer.lr, 1 / p.problem.smoothness());
}

// Seen to fail: with the share of the reduce alone.
TEST(Theory, KnowsWhichShareTopkKeeps) {
  const Prepared p = prepare(kTopk);
  const double parts = p.problem.smoothness_of_parts();
  EXPECT_DOUBLE_EQ(p.config.optimizer.lr,
                   theory_step_size(p.problem.smoothness(), parts, 0.3, 0.3));
  EXPECT_LT(p.config.optimizer.lr, 0.1 / p.problem.smoothness());
}

TEST(Theory, GivesRunsThatConverge) {
  for (const std::string& compression : {std::string(), kTopk}) {
    const Prepared p = prepare(compression);
    const double at_the_start = p.problem.gradient_norm_squared(std::vector<float>(60));
    EXPECT_LT(gradient_after_a_run(p), 1e-3 * at_the_start) << p.config.optimizer.lr;
  }
}

TEST(Theory, IsRefusedWhereThereAreSeveralHops) {
  const RunConfig config = config_of(kQuadratic + kTopk);
  EXPECT_TRUE(check_together(config, "c", topology_of("parameter_server")).empty());
  const auto problems = check_together(config, "c", topology_of("ring"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[0].message, "lr: theory is proven for one hop, and kind: ring has several");
}

TEST(Theory, IsPartOfWhatNodesAgreeOn) {
  const std::string number =
      "quadratic: {dimension: 60, condition: 10, heterogeneity: 1}\n"
      "optimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 4000}\nseed: 3\n";
  EXPECT_NE(config_of(kQuadratic).canonical(), config_of(number).canonical());
}

}  // namespace
}  // namespace kimesh::theory_test
