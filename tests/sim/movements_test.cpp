// feedback: ef14, where workers send the steps of their optimizer, and gather: shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/random.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/quadratic_mesh/watched_objective.h"
#include "tests/sanitized.h"

namespace kimesh::test::movements_test {
namespace {

constexpr const char* kKinds[] = {"ring", "parameter_server", "tree", "graph"};

MeshSpec movements(const std::string& kind, std::size_t nodes, double ratio) {
  MeshSpec spec;
  spec.kind = kind;
  spec.nodes = nodes;
  spec.dimension = 120;
  spec.rate_bits_per_s = 1e9;
  spec.core.feedback = Feedback::kEf14;
  spec.core.gather = Gather::kShared;
  spec.core.policy = {policy_options("fixed", {{"ratio", std::to_string(ratio)}}),
                      make_codec("topk")};
  return spec;
}

// The scale of the movement to which the gradient of a batch belongs.
using ScaleOf = std::function<double(NodeIndex node, std::uint64_t batch)>;

ScaleOf written_scale(const Mesh& mesh) {
  std::vector<double> scales;
  for (const SimulatedNode& node : mesh.setup.nodes)
    scales.push_back(node.vectors.local_steps.scale());
  return [scales](NodeIndex node, std::uint64_t) { return scales[node]; };
}

// The numbers of local steps that verdicts say, and what nodes offer of them.
unsigned steps_said(Round round) {
  return 1 + round * round % 4;
}
unsigned offered(NodeIndex node, Round round) {
  return 1 + (node + round / 3) % kMultipleMax;
}
// The scales of a run of so many rounds that has these numbers.
ScaleOf offered_scale(const Mesh& mesh, Round rounds) {
  const Round behind = mesh.spec.core.overlap == Use::kAlways ? 2 : 1;
  std::vector<std::vector<double>> scales(mesh.spec.nodes);
  for (Round k = 0; k < rounds; ++k) {
    double mean = 0;
    for (NodeIndex i = 0; i < scales.size(); ++i)
      mean += mesh.problem.weights[i] * (k < behind ? 1 : offered(i, k - behind));
    for (NodeIndex i = 0; i < scales.size(); ++i) {
      const unsigned multiple = k < behind ? 1 : offered(i, k - behind);
      const unsigned steps = k < behind ? 1 : steps_said(k - behind);
      scales[i].insert(scales[i].end(), multiple * steps, mean / multiple);
    }
  }
  return [scales](NodeIndex node, std::uint64_t batch) { return scales[node].at(batch); };
}

// Sums what all nodes' movements come to, as their optimizers make them of the gradients that the
// run computes: without momentum ω lr g, scaled where nodes take unlike numbers of local steps.
void watch_movements(Mesh& mesh, const ScaleOf& scale, std::vector<double>& sum) {
  sum.assign(mesh.plan.layout.size(), 0);
  for (NodeIndex node = 0; node < mesh.setup.nodes.size(); ++node) {
    auto& objective = mesh.setup.nodes[node].objective;
    const auto add = [&mesh, &sum, scale, node](std::uint64_t batch,
                                                std::span<const float> gradient) {
      constexpr Round kAny = 0;  // the rate is the same in all of them
      const double factor =
          mesh.problem.weights[node] * scale(node, batch) * mesh.spec.optimizer.learning_rate(kAny);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * gradient[j];
    };
    objective = std::make_unique<WatchedObjective>(std::move(objective), add);
  }
}

// Σ e over all senders, which the estimates of reduce channels hold as −e.
std::vector<double> residuals(const Mesh& mesh) {
  std::vector<double> sum(mesh.plan.layout.size());
  for (ChannelIndex c = 0; c < mesh.plan.channels.size(); ++c) {
    const Channel& channel = mesh.plan.channels[c];
    if (channel.phase != Phase::kReduce) continue;
    const auto held = mesh.simulator->vectors(mesh.plan.link_of(c).from).estimate(c);
    for (std::size_t j = 0; j < held.size(); ++j)
      sum[mesh.plan.shards[channel.shard].begin + j] -= held[j];
  }
  return sum;
}

// Whatever links do, every movement is delivered or kept: x_0 − x = Σ p − Σ e.
// Seen to fail with a residual that is forgotten, and with overlap where the next gradient
// overwrites the movement that is being sent, its local steps too.
TEST(Movements, AreDeliveredOrKeptAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= seeds_of(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    MeshSpec spec = movements(kKinds[random.below(4)], 2 + random.below(5), 0.1);
    spec.seed = seed;
    spec.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.05}");
    spec.core.gather = random.below(2) ? Gather::kPerLink : Gather::kShared;
    spec.core.stop_rounds = 30;
    spec.core.digest_every = 5;
    if (random.below(2)) spec.core.look_ahead = Use::kAlways;
    if (spec.core.look_ahead == Use::kAlways && random.below(2)) spec.core.overlap = Use::kAlways;
    const bool takes_local_steps = random.below(2) == 0;
    for (std::size_t i = 0; takes_local_steps && i < spec.nodes; ++i)
      spec.local_steps.push_back(1 + random.below(4));
    const double rate = random.below(2) ? 200 : 100e3;
    Mesh calm(spec);  // settings that do not depend on what links do
    calm.run();
    spec.core.local_steps_vary = random.below(2) == 0;
    spec.core.chooses_multiples = spec.core.local_steps_vary && !takes_local_steps;
    const StepsByRound decisions(
        calm.decisions, steps_said,
        spec.core.chooses_multiples ? calm.problem.weights : std::vector<double>(), offered);
    Mesh mesh(spec);
    if (spec.core.local_steps_vary) mesh.setup.replay = &decisions;
    for (LinkSpec& link : mesh.setup.links)
      link.rate = RateTrace{{{0.0, rate * (1 + random.uniform())}}};
    for (int i = 0; i < 3; ++i) {
      const auto link = random.below(static_cast<std::uint32_t>(mesh.plan.links.size()));
      const double at = random.uniform();
      mesh.setup.faults.push_back({Fault::Kind::kCut, at, link, 0});
      mesh.setup.faults.push_back({Fault::Kind::kRestore, at + random.uniform() / 2, link, 0});
    }
    std::vector<double> moved;
    const bool offers = spec.core.chooses_multiples;
    watch_movements(mesh, offers ? offered_scale(mesh, 30) : written_scale(mesh), moved);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const std::vector<double> kept = residuals(mesh);
    const std::vector<float> x = mesh.simulator->owners_parameters();
    double error = 0, size = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      error = std::max(error, std::abs(-x[j] - (moved[j] - kept[j])));  // quadratics begin at 0
      size = std::max(size, std::abs(moved[j]));
    }
    EXPECT_LE(error, 1e-5 * size);
    EXPECT_TRUE(std::ranges::any_of(kept, [](double e) { return e != 0; }));
    if (HasFailure()) return;
  }
}

// Seen to fail with an owner that moves its copy by its step.
TEST(SharedGather, LeavesAllCopiesEqualAfterEveryRound) {
  for (const char* kind : kKinds) {
    for (const Feedback feedback : {Feedback::kEf21, Feedback::kEf14}) {
      MeshSpec spec = movements(kind, 5, 0.1);
      spec.core.feedback = feedback;
      spec.core.stop_rounds = 20;
      Mesh mesh(spec);
      std::vector<std::vector<std::uint64_t>> digests(20);
      mesh.observer.report = [&](NodeIndex node, TimePoint, const RoundReport& report) {
        if (report.confirmation) return;
        const auto w = const_cast<Vectors&>(mesh.simulator->vectors(node)).point();
        digests[report.round].push_back(digest_floats(w));
      };
      mesh.run();
      ASSERT_TRUE(mesh.done()) << mesh.ends();
      for (std::size_t round = 0; round < digests.size(); ++round) {
        ASSERT_EQ(digests[round].size(), 5u);
        for (const std::uint64_t digest : digests[round])
          EXPECT_EQ(digest, digests[round][0]) << kind << ", round " << round;
      }
    }
  }
}

// The links of a tree differ 100 times; the shared message suits the slowest, wherever it is.
// Seen to fail: with a limit of the owner's own links only.
TEST(SharedGather, IsSizedByTheSlowestLinkOfItsTree) {
  for (LinkIndex slow = 0; slow < 2; ++slow) {
    MeshSpec spec = movements("tree", 5, 0.1);
    spec.servers = {0};
    spec.dimension = 50'000;
    spec.rate_bits_per_s = 100e6;
    spec.core.policy = {policy_options("kimad"), make_codec("dzq"), std::chrono::milliseconds(100)};
    spec.core.stop_rounds = 60;
    Mesh mesh(spec);
    // a -> b carries the shard to b, d and e; b -> d to d alone.
    const LinkIndex link = *mesh.plan.find_link(slow == 0 ? 0 : 1, slow == 0 ? 1 : 3);
    mesh.setup.links[link].rate = RateTrace{{{0.0, 1e6}}};
    mesh.setup.costs.encode_s_per_coded_byte = mesh.setup.costs.decode_s_per_coded_byte = 0;
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const RoundReport& report = mesh.reports[0][50];
    const double took = to_seconds(report.ended - report.begun);
    EXPECT_LT(took, 0.13) << "a round that waits for a message of 100 Mbit/s takes seconds";
    EXPECT_GT(took, 0.04) << "and one that sends the floor alone is over at once";
  }
}

// Workers with AdamW's moments of their own: where all have the same data they move as one process.
// Seen to fail with a movement that is added to that of the round before.
TEST(Movements, OfAdamwAreThoseOfOneProcessWhereAllDataAreTheSame) {
  for (const char* kind : kKinds) {
    MeshSpec spec = movements(kind, 4, 1.0);
    spec.heterogeneity = 0;
    spec.optimizer =
        options_of_text<OptimizerOptions>("{kind: adamw, lr: 0.01, weight_decay: 0.1}");
    spec.core.stop_rounds = 50;
    Mesh mesh(spec);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const auto reference = joined_descent(mesh.problem, spec.optimizer, 50);
    EXPECT_LE(relative_l2(mesh.simulator->owners_parameters(), reference), 1e-5) << kind;
  }
}

// The classic residual on each hop of a ring stays at a distance from the optimum that grows with
// the step: ‖∇f‖² ∝ γ². Seen to fail with EF21, which has no such floor.
TEST(Movements, OnEachHopHaveAFloorThatGrowsWithTheSquareOfTheStep) {
  const auto floor_at = [](double step) {
    MeshSpec spec = movements("ring", 4, 0.05);
    spec.core.gather = Gather::kPerLink;
    spec.optimizer.lr = step / Mesh(spec).problem.smoothness();
    spec.core.stop_rounds = 6000;
    spec.core.digest_every = 0;
    Mesh mesh(spec);
    std::vector<double> late;
    mesh.observer.report = [&](NodeIndex node, TimePoint, const RoundReport& report) {
      if (node == 0 && report.round > 5000 && report.round % 50 == 0 && !report.confirmation)
        late.push_back(mesh.problem.gradient_norm_squared(mesh.simulator->owners_parameters()));
    };
    mesh.run();
    double sum = 0;
    for (const double value : late) sum += value;
    return sum / static_cast<double>(late.size());
  };
  const double coarse = floor_at(0.2), fine = floor_at(0.1);
  EXPECT_GT(coarse / fine, 2) << coarse << " over " << fine;
  EXPECT_LT(coarse / fine, 8) << coarse << " over " << fine;
}

}  // namespace
}  // namespace kimesh::test::movements_test
