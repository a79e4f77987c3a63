// Invariant 5 of docs/architecture.md: with dense messages N nodes compute what one process
// computes on the joined problem.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kimesh/config/options_of_text.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/shipped.h"

namespace kimesh::test::identity_test {
namespace {

// "at most 1e-6 relative L2" was measured; the bar leaves room for the order of additions.
constexpr double kBar = 1e-5;

std::vector<double> uneven_weights(std::size_t nodes) {
  std::vector<double> weights;
  double sum = 0;
  for (std::size_t i = 0; i < nodes; ++i)
    sum += weights.emplace_back(1.0 + static_cast<double>(i % 3));
  for (double& w : weights) w /= sum;
  return weights;
}

struct Case {
  std::string kind;
  std::vector<NodeIndex> servers;
  const char* name;
};

class Identity : public testing::TestWithParam<const char*> {
 protected:
  // w of every node after 50 rounds.
  static std::vector<std::vector<float>> run(Mesh& mesh) {
    std::vector<std::vector<float>> all(mesh.spec.nodes);
    mesh.run();
    EXPECT_TRUE(mesh.done()) << mesh.ends();
    for (NodeIndex i = 0; i < mesh.spec.nodes; ++i)
      for (ShardIndex s = 0; s < mesh.plan.shards.size(); ++s) {
        const auto part = mesh.simulator->vectors(i).shard(s);
        all[i].insert(all[i].end(), part.begin(), part.end());
      }
    return all;
  }
  // A mesh whose shards have seven elements ends with the same bits as one with a shard a server.
  static void expect_reference(MeshSpec spec) {
    spec.optimizer = options_of_text<OptimizerOptions>(GetParam());
    spec.core.stop_rounds = 50;
    Mesh mesh(spec);
    const auto all = run(mesh);
    const auto reference = joined_descent(mesh.problem, spec.optimizer, 50);
    for (NodeIndex i = 0; i < mesh.spec.nodes; ++i)
      EXPECT_LE(relative_l2(all[i], reference), kBar) << "node " << i;
    spec.shard_elements_max = 7;
    Mesh cut(spec);
    EXPECT_EQ(run(cut), all);
  }
};

// Seen to fail: with data_weight left out of the contribution; with a child's estimate left out of
// the sum.
TEST_P(Identity, EqualsTheSingleProcessOnEveryTopology) {
  const std::vector<Case> cases{{"ring", {}, "ring"},
                                {"parameter_server", {}, "ps, all serve"},
                                {"parameter_server", {1}, "ps, one server"},
                                {"parameter_server", {0, 1}, "ps, two servers"},
                                {"tree", {}, "tree, all serve"},
                                {"tree", {1}, "tree, one server"},
                                {"graph", {}, "graph, all serve"},
                                {"graph", {0, 1}, "graph, two servers"}};
  for (const Case& c : cases) {
    for (std::size_t nodes : {2, 3, 4, 7, 16}) {
      SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(nodes) + " nodes");
      MeshSpec spec;
      spec.kind = c.kind;
      spec.servers = c.servers;
      spec.nodes = nodes;
      spec.weights = uneven_weights(nodes);
      expect_reference(spec);
    }
  }
}

TEST_P(Identity, EqualsTheSingleProcessOnEveryShippedTopology) {
  for (const std::string& name : shipped_topologies()) {
    SCOPED_TRACE(name);
    MeshSpec spec;
    spec.file = shipped_path(name);
    spec.weights = uneven_weights(load_topology(spec.file).value.nodes.size());
    expect_reference(spec);
  }
}

std::string name_of_optimizer(const testing::TestParamInfo<const char*>& tested) {
  return std::array{"Sgd", "Nesterov", "Adamw"}.at(tested.index);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Identity,
                         testing::Values("{kind: sgd, lr: 0.1, momentum: 0.9}",
                                         "{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true}",
                                         "{kind: adamw, lr: 0.01}"),
                         name_of_optimizer);

}  // namespace
}  // namespace kimesh::test::identity_test
