// Bidirectional EF21 along rings and stars reaches what dense float32 descent reaches; a gather of
// gradients does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kimesh/compress/compressor.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/settings.h"

namespace kimesh::test::convergence_test {
namespace {

constexpr Round kRounds = 4500;

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j)
    sum += (static_cast<double>(a[j]) - b[j]) * (static_cast<double>(a[j]) - b[j]);
  return std::sqrt(sum);
}

MeshSpec quadratic(const std::string& kind, std::size_t nodes) {
  MeshSpec spec;
  spec.kind = kind;
  spec.nodes = nodes;
  spec.dimension = 200;
  spec.rate_bits_per_s = 1e9;
  spec.core.stop_rounds = kRounds;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.digest_every = 0;
  return spec;
}

// Measured: plain float32 descent stalls near 1e-9 to 1e-10 by itself; EF21 over a ring ends at 0.5
// to 0.6 of that.
TEST(Convergence, ReachesTheFloorOfDenseDescentInRingsTo16Nodes) {
  for (const std::size_t nodes : {4, 16}) {
    MeshSpec spec = quadratic("ring", nodes);
    Mesh mesh(spec);
    spec.optimizer.lr = 0.3 / mesh.problem.smoothness();
    Mesh compressed(spec);
    compressed.run();
    ASSERT_TRUE(compressed.done()) << compressed.ends();
    const double dense = compressed.problem.gradient_norm_squared(
        joined_descent(compressed.problem, spec.optimizer, kRounds));
    const double reached =
        compressed.problem.gradient_norm_squared(compressed.simulator->owners_parameters());
    EXPECT_LE(reached, 2 * dense) << nodes << " nodes";
    RecordProperty("ratio_" + std::to_string(nodes), std::to_string(reached / dense));
  }
}

TEST(Convergence, ReachesTheFloorOfDenseDescentWithOneServer) {
  MeshSpec spec = quadratic("parameter_server", 8);
  spec.servers = {3};
  Mesh mesh(spec);
  spec.optimizer.lr = 0.3 / mesh.problem.smoothness();
  Mesh compressed(spec);
  compressed.run();
  ASSERT_TRUE(compressed.done()) << compressed.ends();
  const double dense = compressed.problem.gradient_norm_squared(
      joined_descent(compressed.problem, spec.optimizer, kRounds));
  EXPECT_LE(compressed.problem.gradient_norm_squared(compressed.simulator->owners_parameters()),
            2 * dense);
}

// Largest ‖w_i − w_0‖ of the copies that the nodes hold.
double spread(const std::vector<std::vector<float>>& copies) {
  double worst = 0;
  for (const auto& copy : copies) worst = std::max(worst, distance(copy, copies[0]));
  return worst;
}

// What kimesh does not do: the owner sends each node its own compressed estimate of the mean
// gradient, and each steps its own copy. On the same problem, with the same ratio and step.
double spread_with_a_gather_of_gradients(const QuadraticProblem& problem, float lr, Round rounds) {
  const std::size_t nodes = problem.a.size(), d = problem.dimension;
  const auto keep = static_cast<std::uint32_t>(d / 20);
  std::vector<std::vector<float>> copies(nodes, std::vector<float>(d)), held = copies;
  const std::vector<Piece> whole{{0, d}};
  CompressScratch scratch;
  for (Round k = 0; k < rounds; ++k) {
    std::vector<float> mean(d);
    for (std::size_t i = 0; i < nodes; ++i)
      for (std::size_t j = 0; j < d; ++j)
        mean[j] += static_cast<float>(problem.weights[i] * problem.a[i][j] *
                                      (copies[i][j] - problem.b[i][j]));
    for (std::size_t i = 0; i < nodes; ++i) {
      // Links differ, so do their budgets.
      const Setting setting = topk_setting(keep + i, k);
      EXPECT_TRUE(advance(mean, held[i], whole, setting, scratch).ok());
      for (std::size_t j = 0; j < d; ++j) copies[i][j] -= lr * held[i][j];
    }
  }
  return spread(copies);
}

// Invariant 2 of docs/architecture.md. The copies of the primal gather come together; those of the
// other one stay apart for ever.
TEST(Convergence, KeepsTheCopiesTogetherWhereAGatherOfGradientsLetsThemDrift) {
  MeshSpec spec = quadratic("parameter_server", 4);
  spec.servers = {0};
  const Mesh shape(spec);
  spec.optimizer.lr = 0.3 / shape.problem.smoothness();
  Mesh mesh(spec);
  double primal = 1;
  mesh.observer.report = [&](NodeIndex node, TimePoint, const RoundReport& report) {
    if (node != 0 || report.round != kRounds - 2) return;  // before the dense gather of the end
    std::vector<std::vector<float>> copies;
    for (NodeIndex i = 0; i < spec.nodes; ++i) {
      const auto w = mesh.simulator->vectors(i).shard(0);
      copies.emplace_back(w.begin(), w.end());
    }
    primal = spread(copies);
  };
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  const double dual = spread_with_a_gather_of_gradients(
      mesh.problem, static_cast<float>(spec.optimizer.lr), kRounds);
  EXPECT_LT(primal, 1e-4);
  EXPECT_GT(dual, 1e-2);
}

// Heterogeneous nodes, one hop: EF21 goes to the floor of float32, the classic residual to one of
// its own, and without feedback the nodes' own gradients, which never vanish, keep it far away.
// Seen to fail: with a receiver that adds up what a message without EF21 brings.
TEST(Convergence, OfTheFeedbacksIsInTheOrderOfTheirTheory) {
  const auto reached = [](Feedback feedback) {
    MeshSpec spec = quadratic("parameter_server", 4);
    spec.optimizer.lr = 0.1 / Mesh(spec).problem.smoothness();
    spec.core.feedback = feedback;
    Mesh mesh(spec);
    mesh.run();
    EXPECT_TRUE(mesh.done()) << mesh.ends();
    return mesh.problem.gradient_norm_squared(mesh.simulator->owners_parameters());
  };
  const double ef21 = reached(Feedback::kEf21), ef14 = reached(Feedback::kEf14),
               none = reached(Feedback::kNone);
  EXPECT_LT(10 * ef21, ef14);
  EXPECT_LT(10 * ef14, none);
}

struct Way {
  const char* name;
  KeyTexts keys, size;  // of the codec, and of the policy
  bool in_a_ring = true;
  double step = 0.3;  // over the smoothness
};

// What each compressor leaves out is carried over: all of them arrive, round a ring where they keep
// to rounding towards zero, over one hop whatever they do.
// Seen to fail with randk at 0.1: this step is beyond its bound.
TEST(Convergence, ReachesTheFloorOfDenseDescentWithEveryCompressor) {
  const Way ways[] = {
      {"dzq", {}, {{"bits", "2"}}},
      {"int8", {}, {}},
      {"int4", {}, {}},
      {"identity", {{"values", "bfloat16"}}, {}},
      {"randk", {}, {{"ratio", "0.5"}}},
      {"dgc", {}, {{"ratio", "0.1"}}},
      {"redsync", {{"values", "bfloat16"}}, {{"ratio", "0.1"}}},
      {"sign", {}, {}, false, 0.02},
      {"sign2", {}, {}, false, 0.2},
  };
  for (const std::string kind : {"ring", "parameter_server"}) {
    for (const Way& way : ways) {
      if (kind == "ring" && !way.in_a_ring) continue;
      MeshSpec spec = quadratic(kind, 4);
      spec.dimension = 400;
      spec.optimizer.lr = way.step / Mesh(spec).problem.smoothness();
      spec.core.policy = {policy_options("fixed", way.size), make_codec(way.name, way.keys)};
      Mesh mesh(spec);
      mesh.run();
      ASSERT_TRUE(mesh.done()) << way.name << ": " << mesh.ends();
      const double dense =
          mesh.problem.gradient_norm_squared(joined_descent(mesh.problem, spec.optimizer, kRounds));
      const double reached =
          mesh.problem.gradient_norm_squared(mesh.simulator->owners_parameters());
      EXPECT_LE(reached, 2 * dense) << way.name << (way.in_a_ring ? ", " : ", one hop, ")
                                    << (kind == "ring" ? "ring" : "star");
    }
  }
}

// A reduce without feedback may be scaled, a gather may not: it feeds back what it left out before.
// All nodes have one minimum, from which dropped parts of their gradients do not keep them away.
// Seen to fail: scaled gathers, whose errors tripled with every draw of their elements.
TEST(Convergence, ScaledMasksAreForReducesOnly) {
  constexpr Round kFew = 400;
  for (const Gather gather : {Gather::kPerLink, Gather::kShared}) {
    SCOPED_TRACE(gather == Gather::kShared ? "shared" : "per link");
    MeshSpec spec = quadratic("parameter_server", 4);
    spec.condition = 10;
    spec.heterogeneity = 0;
    spec.core.stop_rounds = kFew;
    spec.core.feedback = Feedback::kNone;
    spec.core.gather = gather;
    spec.core.policy = {policy_options("fixed", {{"ratio", "0.25"}}),
                        make_codec("randk", {{"scaled", "true"}})};
    spec.optimizer.lr = 0.1 / Mesh(spec).problem.smoothness();
    Mesh mesh(spec);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const std::vector<float> zeros(spec.dimension, 0.0f);
    EXPECT_LT(mesh.problem.gradient_norm_squared(mesh.simulator->owners_parameters()),
              1e-3 * mesh.problem.gradient_norm_squared(zeros));
    std::size_t reduces = 0, gathers = 0;
    for (ChannelIndex channel = 0; channel < mesh.plan.channels.size(); ++channel) {
      const std::optional<Setting> setting = mesh.decisions.setting(channel, kFew / 2);
      if (!setting) continue;  // a shared message is decided once
      const bool reduce = mesh.plan.channels[channel].phase == Phase::kReduce;
      ++(reduce ? reduces : gathers);
      ASSERT_TRUE(is_of(*setting, "randk"));
      EXPECT_EQ(setting->codec->traits().contractive, !reduce);
    }
    EXPECT_GT(reduces, 0u);
    EXPECT_GT(gathers, 0u);
  }
}

}  // namespace
}  // namespace kimesh::test::convergence_test
