// Several steps of a node's own between two rounds of messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/quadratic_mesh/watched_objective.h"

namespace kimesh::test::local_steps_test {
namespace {

constexpr const char* kKinds[] = {"ring", "parameter_server", "tree", "graph", "torus"};
constexpr double kRate = 0.05, kMomentum = 0.9;
const std::vector<unsigned> kAlike{3, 3, 3, 3, 3, 3}, kUnlike{1, 4, 2, 3, 1, 5};

enum class Way { kPlain, kAhead, kOverlaps };
constexpr Way kWays[] = {Way::kPlain, Way::kAhead, Way::kOverlaps};

// Messages hold all elements, so that there are no residuals.
MeshSpec stepping(const std::string& kind, Way way, std::vector<unsigned> steps) {
  MeshSpec spec;
  spec.kind = kind;
  spec.nodes = steps.size();
  spec.rate_bits_per_s = 1e9;
  spec.optimizer =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true}");
  spec.core.feedback = Feedback::kEf14;
  spec.core.policy = {policy_options("fixed", {{"ratio", "1"}}), make_codec("topk")};
  if (way != Way::kPlain) spec.core.look_ahead = Use::kAlways;
  if (way == Way::kOverlaps) spec.core.overlap = Use::kAlways;
  spec.core.stop_rounds = 30;
  spec.local_steps = std::move(steps);
  return spec;
}

using Vector = std::vector<double>;

// One node's round in float64: its steps from `y`, with its velocity. A gradient that was taken
// ahead has no momentum added: then the next one is taken ahead of `y` as well, the first by
// `first` of the last step.
struct ReferenceNode {
  const Vector &a, &b;
  Vector v, last;

  Vector movement(Vector y, unsigned steps, bool ahead, double first) {
    Vector sum(y.size());
    for (unsigned h = 0; h < steps; ++h)
      for (std::size_t j = 0; j < y.size(); ++j) {
        const double share = !ahead ? 0 : h == 0 ? first : kMomentum;
        const double g = a[j] * (y[j] - share * kRate * v[j] - b[j]);
        v[j] = kMomentum * v[j] + g;
        const double step = kRate * (ahead ? v[j] : g + kMomentum * v[j]);
        y[j] -= step;
        sum[j] += step;
      }
    return sum;
  }
};

// How many steps a node takes in a round.
using StepsOf = std::function<unsigned(NodeIndex node, Round round)>;

StepsOf always(const std::vector<unsigned>& steps) {
  return [steps](NodeIndex node, Round) { return steps[node]; };
}

Vector reference(const QuadraticProblem& problem, const StepsOf& steps, Way way, Round rounds) {
  const std::size_t size = problem.dimension;
  const Vector zero(size);
  std::vector<ReferenceNode> nodes;
  for (std::size_t i = 0; i < problem.weights.size(); ++i)
    nodes.push_back({problem.a[i], problem.b[i], zero, zero});
  Vector x = zero, under_way = zero;
  for (Round k = 0; k < rounds; ++k) {
    Vector moved = zero;
    double mean = 0;
    for (NodeIndex i = 0; i < nodes.size(); ++i) mean += problem.weights[i] * steps(i, k);
    for (NodeIndex i = 0; i < nodes.size(); ++i) {
      Vector y = x;
      // The node takes its own movement for that of all.
      if (way == Way::kOverlaps)
        for (std::size_t j = 0; j < size; ++j) y[j] -= nodes[i].last[j];
      nodes[i].last = nodes[i].movement(y, steps(i, k), way != Way::kPlain,
                                        way == Way::kOverlaps ? kMomentum / 2 : kMomentum);
      for (std::size_t j = 0; j < size; ++j) {
        nodes[i].last[j] *= mean / steps(i, k);
        moved[j] += problem.weights[i] * nodes[i].last[j];
      }
    }
    for (std::size_t j = 0; j < size; ++j) x[j] -= way == Way::kOverlaps ? under_way[j] : moved[j];
    under_way = moved;
  }
  if (way == Way::kOverlaps)
    for (std::size_t j = 0; j < size; ++j) x[j] -= under_way[j];
  return x;
}

std::vector<float> rounded(const Vector& x) {
  return {x.begin(), x.end()};
}

// Seen to fail with a node that steps from where its last round ended, with Nesterov's term in a
// movement whose gradients were taken ahead, and without the scale.
TEST(LocalSteps, MoveAsTheirFormulaSays) {
  for (const char* kind : kKinds)
    for (const Way way : kWays)
      for (const auto& steps : {kAlike, kUnlike}) {
        SCOPED_TRACE(std::string(kind) + ", way " + std::to_string(static_cast<int>(way)));
        MeshSpec spec = stepping(kind, way, steps);
        Mesh mesh(spec);
        mesh.run();
        ASSERT_TRUE(mesh.done()) << mesh.ends();
        const auto expected = rounded(reference(mesh.problem, always(steps), way, 30));
        EXPECT_LT(relative_l2(mesh.simulator->owners_parameters(), expected), 1e-5);
      }
}

// The number of steps that the verdict of `round` says.
unsigned varying(Round round) {
  constexpr std::array<unsigned, 8> kSteps{1, 1, 3, 3, 1, 2, 1, 4};
  return kSteps[round % kSteps.size()];
}

// The steps of node i by the verdict of that round; nothing: there was none yet.
using StepsByVerdict = std::function<unsigned(NodeIndex i, std::optional<Round> verdict)>;

// Runs 30 rounds with these decisions, of which a gradient follows the last verdict that was known
// when it was asked for.
void expect_as_decided(const MeshSpec& spec, const DecisionSource& decisions, Way way,
                       const StepsByVerdict& steps) {
  Mesh mesh(spec);
  mesh.setup.replay = &decisions;
  // The owner of shard 0 then has its verdict before its own movement is made.
  mesh.setup.costs.node_gradients.assign(6, std::chrono::milliseconds(1));
  mesh.setup.costs.node_gradients[0] = std::chrono::milliseconds(100);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  const Round behind = way == Way::kOverlaps ? 2 : 1;
  const auto in_round = [&](NodeIndex i, Round k) {
    return steps(i, k < behind ? std::nullopt : std::optional(k - behind));
  };
  const auto expected = rounded(reference(mesh.problem, in_round, way, 30));
  EXPECT_LT(relative_l2(mesh.simulator->owners_parameters(), expected), 1e-5);
}

// A gradient has as many steps as the last verdict said when it was asked for, which with overlap
// is a round earlier. Seen to fail with an owner that asks by a verdict that others do not have
// yet, without the copy of a single step that several follow, and with a point that is ahead by
// all of a sum.
TEST(LocalSteps, MayVaryFromRoundToRound) {
  for (const char* kind : kKinds)
    for (const Way way : kWays)
      for (const auto& steps : {std::vector<unsigned>(6, 1), kUnlike}) {
        SCOPED_TRACE(std::string(kind) + ", way " + std::to_string(static_cast<int>(way)));
        MeshSpec spec = stepping(kind, way, steps);
        Mesh calm(spec);
        calm.run();
        spec.core.local_steps_vary = true;
        const StepsByRound decisions(calm.decisions, varying);
        expect_as_decided(spec, decisions, way, [&](NodeIndex i, std::optional<Round> verdict) {
          return steps[i] * (verdict ? varying(*verdict) : 1);
        });
      }
}

// What a node offers in `round`.
unsigned offered(NodeIndex node, Round round) {
  constexpr std::array<std::array<unsigned, 6>, 3> kMultiples{
      {{1, 1, 1, 1, 1, 1}, {1, 4, 2, 3, 1, 2}, {3, 1, 1, 2, 4, 1}}};
  return kMultiples[round / 7 % kMultiples.size()][node];
}

// Nodes that are faster than others take more steps, as the last verdict says that they offered.
// Seen to fail with what a node has offered since, with a slow node's single step that is not
// scaled, and with a movement under way that is scaled as the next one.
TEST(LocalSteps, MayBeMoreAtNodesThatAreFaster) {
  for (const char* kind : kKinds)
    for (const Way way : kWays) {
      SCOPED_TRACE(std::string(kind) + ", way " + std::to_string(static_cast<int>(way)));
      MeshSpec spec = stepping(kind, way, std::vector<unsigned>(6, 1));
      Mesh calm(spec);
      calm.run();
      spec.core.local_steps_vary = spec.core.chooses_multiples = true;
      const StepsByRound decisions(calm.decisions, varying, calm.problem.weights, offered);
      expect_as_decided(spec, decisions, way, [](NodeIndex i, std::optional<Round> verdict) {
        return verdict ? varying(*verdict) * offered(i, *verdict) : 1;
      });
    }
}

// Where all nodes have one function, H local steps are H steps of one process. Seen to fail with a
// decay that the owner takes once a round, with moments that start anew in each round, and with
// steps that are not clipped.
TEST(LocalSteps, OfNodesThatAreAllAlikeAreThoseOfOneProcess) {
  for (const char* optimizer :
       {"{kind: sgd, lr: 0.05, momentum: 0.9}",
        "{kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.1}",
        "{kind: sgd, lr: 0.05, clip: 0.5}", "{kind: adamw, lr: 0.05, weight_decay: 0.5}"}) {
    SCOPED_TRACE(optimizer);
    MeshSpec spec = stepping("ring", Way::kPlain, {4, 4, 4, 4});
    spec.optimizer = options_of_text<OptimizerOptions>(optimizer);
    Mesh mesh(spec);
    for (std::size_t i = 1; i < 4; ++i) {
      mesh.problem.a[i] = mesh.problem.a[0];
      mesh.problem.b[i] = mesh.problem.b[0];
      mesh.setup.nodes[i].objective = make_quadratic_objective(mesh.problem, 0);
    }
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const auto expected = joined_descent(mesh.problem, spec.optimizer, 4 * 30);
    EXPECT_LT(relative_l2(mesh.simulator->owners_parameters(), expected), 1e-4);
  }
}

// The order of data is a function of the round and the step. Seen to fail with the round as the
// batch.
TEST(LocalSteps, TakeEveryBatchOnce) {
  for (const Way way : kWays) {
    Mesh mesh(stepping("tree", way, kUnlike));
    std::vector<std::uint64_t> batches, expected;
    auto& objective = mesh.setup.nodes[1].objective;
    objective = std::make_unique<WatchedObjective>(
        std::move(objective),
        [&batches](std::uint64_t batch, std::span<const float>) { batches.push_back(batch); });
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    for (std::uint64_t batch = 0; batch < 30 * kUnlike[1]; ++batch) expected.push_back(batch);
    EXPECT_EQ(batches, expected);
  }
}

// What a round waits for are all steps of its slowest node. Seen to fail with the time of one.
TEST(LocalSteps, TakeTheTimeOfAllTheirGradients) {
  Mesh mesh(stepping("ring", Way::kPlain, kUnlike));
  mesh.setup.costs.gradient = std::chrono::milliseconds(100);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  EXPECT_EQ(mesh.reports[1][20].compute, std::chrono::milliseconds(400));
  EXPECT_DOUBLE_EQ(mesh.reports[0][20].verdict.compute_s, 0.5);
}

QuadraticProblem weighted(QuadraticProblem problem, const std::vector<unsigned>& steps) {
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) sum += problem.weights[i] *= steps[i];
  for (double& weight : problem.weights) weight /= sum;
  return problem;
}

// Where nodes take unlike numbers of steps. What is left of the distance is local steps' own: it
// shrinks with lr. Seen to fail without the scale, whose limit is the other minimiser, and with the
// ‖a_i‖₁ of a momentum that starts from 0 in every round.
TEST(LocalSteps, OfUnlikeNumbersMinimiseTheWeightedSum) {
  const std::vector<unsigned> steps{1, 8, 2, 4};
  for (const char* kind : {"ring", "parameter_server"})
    for (const double momentum : {0.0, 0.9})
      for (const bool scaled : {true, false}) {
        SCOPED_TRACE(std::string(kind) + (scaled ? ", scaled" : ", not scaled") + ", momentum " +
                     std::to_string(momentum));
        std::vector<double> left;
        for (const double lr : {0.01, 0.005}) {
          MeshSpec spec = stepping(kind, Way::kPlain, steps);
          spec.condition = 4;
          spec.weights = {0.4, 0.1, 0.3, 0.2};
          spec.optimizer = options_of_text<OptimizerOptions>(
              "{kind: sgd, lr: " + std::to_string(lr * (1 - momentum)) +
              ", momentum: " + std::to_string(momentum) + "}");
          spec.core.stop_rounds = 3000;
          Mesh mesh(spec);
          if (!scaled)
            for (SimulatedNode& node : mesh.setup.nodes)
              node.vectors.local_steps.of_mesh = node.vectors.local_steps.own;
          mesh.run();
          ASSERT_TRUE(mesh.done()) << mesh.ends();
          const std::vector<float> x = mesh.simulator->owners_parameters();
          const auto wanted = rounded(mesh.problem.minimiser()),
                     other = rounded(weighted(mesh.problem, steps).minimiser());
          EXPECT_GT(relative_l2(other, wanted), 0.3);
          left.push_back(relative_l2(x, scaled ? wanted : other));
        }
        EXPECT_LT(left[0], 0.03);
        EXPECT_LT(left[1], 0.6 * left[0]) << left[1] << " after " << left[0];
      }
}

// As with one step, what is compressed ends near: the classic residual has a floor.
TEST(LocalSteps, OfUnlikeNumbersMinimiseTheWeightedSumWhereMessagesAreSmall) {
  for (const char* kind : kKinds)
    for (const Way way : {Way::kPlain, Way::kAhead}) {
      SCOPED_TRACE(kind);
      MeshSpec spec = stepping(kind, way, kUnlike);
      spec.condition = 4;
      spec.optimizer = options_of_text<OptimizerOptions>(
          "{kind: sgd, lr: 0.002, momentum: 0.9, nesterov: true}");
      spec.core.policy = {policy_options("fixed", {{"ratio", "0.2"}}), make_codec("topk")};
      spec.core.stop_rounds = 1200;
      Mesh mesh(spec);
      mesh.run();
      ASSERT_TRUE(mesh.done()) << mesh.ends();
      const auto wanted = rounded(mesh.problem.minimiser());
      EXPECT_LT(relative_l2(mesh.simulator->owners_parameters(), wanted), 0.05);
    }
}

}  // namespace
}  // namespace kimesh::test::local_steps_test
