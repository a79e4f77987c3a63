// The search for joins: its model of rounds against the simulator, and what it finds against all
// that there is.
#include "kimesh/run/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kimesh/run/predict.h"
#include "src/run/round_model.h"
#include "src/run/suggest_kinds.h"

namespace kimesh::suggest_test {
namespace {

constexpr std::size_t kElements = 40'000;

PairRates drawn_rates(std::size_t nodes, unsigned seed, double least = 0.5e6, double most = 20e6) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(std::log(least), std::log(most));
  std::uniform_real_distribution<double> delay(0, 0.005);
  PairRates rates(nodes);
  for (NodeIndex from = 0; from < nodes; ++from)
    for (NodeIndex to = 0; to < nodes; ++to)
      if (from != to) rates.at(from, to) = {std::exp(exponent(random)), delay(random)};
  return rates;
}

RoundWork usual_work() {
  return round_work(SimulatedCosts(), kElements);
}

TopologyFile nodes_of(std::size_t count) {
  TopologyFile topology;
  for (std::size_t i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "tcp://127.0.0.1:" + std::to_string(7101 + i);
    topology.nodes.push_back(node);
  }
  return topology;
}

double simulated(const Arrangement& arrangement, const PairRates& rates) {
  const ArrangedTopology made = arranged(nodes_of(rates.nodes()), arrangement, rates);
  const auto plan = make_plan(made.topology, Layout::vector(kElements));
  EXPECT_TRUE(plan.ok());
  const std::vector<double> weights(rates.nodes(), 1.0 / static_cast<double>(rates.nodes()));
  const Prediction prediction = predict(RunConfig(), made.topology, *plan, weights, {});
  EXPECT_EQ(prediction.trouble, "");
  return prediction.round_s;
}

// Every node hangs on one before it: all shapes of trees, hung on node 0.
std::vector<NodeIndex> drawn_parents(std::size_t nodes, std::mt19937_64& random) {
  std::vector<NodeIndex> parents{0};
  for (NodeIndex node = 1; node < nodes; ++node)
    parents.push_back(static_cast<NodeIndex>(random() % node));
  return parents;
}

class RoundModelSeeds : public testing::TestWithParam<unsigned> {};

// Seen to fail: one round laid out alone, shards with other ways first.
TEST_P(RoundModelSeeds, TellsWhatTheSimulatorDoes) {
  std::mt19937_64 random(GetParam());
  for (const std::size_t nodes : {3, 8}) {
    SCOPED_TRACE(testing::Message() << "seed " << GetParam() << ", " << nodes << " nodes");
    const PairRates rates = drawn_rates(nodes, GetParam());
    const RoundModel model(rates, usual_work());
    std::vector<NodeIndex> order = all_nodes(nodes);
    std::ranges::shuffle(order, random);
    std::vector<Arrangement> all{ring_of(order), tree_of(drawn_parents(nodes, random))};
    for (const std::size_t count : {std::size_t{1}, nodes})
      all.push_back(servers_of(all_nodes(count)));
    all.push_back(all.front());
    for (std::size_t i = 0; i < nodes; ++i)
      all.back().shard_weights.push_back(0.25 + static_cast<double>(random() % 8));
    for (const Arrangement& arrangement : all) {
      const double told = model.round_s(arrangement), is = simulated(arrangement, rates);
      // Headers, which the model leaves out, are up to 1.5 % here.
      EXPECT_NEAR(told / is, 0.99, 0.01)
          << kind_name(arrangement.kind) << " of " << arrangement.servers.size() << " servers";
    }
  }
}

class SuggestSeeds : public testing::TestWithParam<unsigned> {};

// Seen to fail: bounds of rings and trees that are too high.
TEST_P(SuggestSeeds, FindsWhatNoOtherRingOrTreeIsBetterThan) {
  constexpr std::size_t kNodes = 5;
  // Of every other seed links are fast, so that ways count and not how busy a link is.
  const double speed = GetParam() % 2 == 0 ? 1 : 100;
  const RoundModel model(drawn_rates(kNodes, GetParam(), 0.5e6 * speed, 20e6 * speed),
                         usual_work());
  double ring_s = std::numeric_limits<double>::infinity(), tree_s = ring_s;
  std::vector<NodeIndex> order = all_nodes(kNodes);
  do ring_s = std::min(ring_s, model.round_s(ring_of(order)));
  while (std::next_permutation(order.begin() + 1, order.end()));
  // Parents in all ways; those that end in no root are none.
  std::vector<NodeIndex> parents(kNodes, 0);
  const auto is_tree = [&] {
    return std::ranges::all_of(all_nodes(kNodes), [&](NodeIndex node) {
      for (std::size_t step = 0; step < kNodes; ++step) node = parents[node];
      return node == 0;
    });
  };
  for (unsigned number = 0; number < 625; ++number) {
    for (unsigned i = 1, rest = number; i < kNodes; ++i, rest /= kNodes)
      parents[i] = static_cast<NodeIndex>(rest % kNodes);
    if (is_tree()) tree_s = std::min(tree_s, model.round_s(tree_of(parents)));
  }
  const auto best_of_rings = best_ring(model), best_of_trees = best_tree(model);
  ASSERT_TRUE(best_of_rings && best_of_trees);
  EXPECT_EQ(best_of_rings->round_s, ring_s);
  EXPECT_EQ(best_of_trees->round_s, tree_s);
  EXPECT_TRUE(best_of_rings->is_exact && best_of_trees->is_exact);
  EXPECT_LT(best_of_rings->tried, 24u) << "bounds spare most of them";
}

TEST_P(SuggestSeeds, BeyondNineNodesTellsABoundThatHolds) {
  constexpr std::size_t kNodes = 12;
  const PairRates rates = drawn_rates(kNodes, GetParam());
  const RoundModel model(rates, usual_work());
  std::mt19937_64 random(GetParam());
  const auto best_of_rings = best_ring(model), best_of_trees = best_tree(model);
  ASSERT_TRUE(best_of_rings && best_of_trees);
  for (unsigned draw = 0; draw < 200; ++draw) {
    std::vector<NodeIndex> order = all_nodes(kNodes);
    std::ranges::shuffle(order, random);
    const double ring_s = model.round_s(ring_of(order));
    EXPECT_GE(ring_s, best_of_rings->bound_s);
    EXPECT_GT(ring_s, best_of_rings->round_s);
    const double tree_s = model.round_s(tree_of(drawn_parents(kNodes, random)));
    EXPECT_GE(tree_s, best_of_trees->bound_s);
    EXPECT_GT(tree_s, best_of_trees->round_s);
  }
  EXPECT_LE(best_of_rings->bound_s, best_of_rings->round_s);
  EXPECT_LE(best_of_trees->bound_s, best_of_trees->round_s);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundModelSeeds, testing::Range(1u, 5u));
INSTANTIATE_TEST_SUITE_P(Seeds, SuggestSeeds, testing::Range(1u, 21u));

// Seen to fail: shards that are never changed.
TEST(Suggest, OtherSizesOfShardsMakeSimulatedRoundsShorterToo) {
  unsigned weighted = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const PairRates rates = drawn_rates(4, seed);
    const std::vector<Suggestion> all = suggest(rates, usual_work());
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].arrangement.shard_weights.empty()) continue;
      ++weighted;
      EXPECT_LT(simulated(all[i].arrangement, rates), simulated(all[i - 1].arrangement, rates))
          << "seed " << seed << ", " << kind_name(all[i].arrangement.kind);
    }
  }
  EXPECT_GT(weighted, 4u);
}

// A round of a large mesh has many messages. Seen to fail where all servers are tried for removal:
// nine times as many messages as are allowed, and, with none left, rounds nine times as long.
TEST(Suggest, LaysOutNoMoreMessagesThanItMay) {
  constexpr std::size_t kLaidOut = 300, kNodes = 20;
  const PairRates rates = drawn_rates(kNodes, 1);
  const std::vector<Suggestion> few = suggest(rates, usual_work(), kLaidOut);
  for (const Suggestion& suggestion : few)
    EXPECT_LE(suggestion.messages, messages_max(kLaidOut) * 5 / 4)
        << kind_name(suggestion.arrangement.kind);
  const RoundModel model(rates, usual_work());
  const auto limited = best_servers(model, kLaidOut), whole = best_servers(model);
  ASSERT_TRUE(limited && whole);
  EXPECT_LE(limited->messages, messages_max(kLaidOut) / 4);
  EXPECT_GT(whole->messages, messages_max(kLaidOut));
  EXPECT_LT(limited->round_s, 1.1 * whole->round_s);
}

TEST(Suggest, UsesNoPairWhoseRateIsNotKnown) {
  PairRates rates(4);
  for (NodeIndex node = 0; node < 4; ++node)
    rates.at(node, static_cast<NodeIndex>((node + 1) % 4)).bits_per_s = 1e6;
  const std::vector<Suggestion> all = suggest(rates, usual_work());
  ASSERT_FALSE(all.empty());
  for (const Suggestion& suggestion : all) {
    EXPECT_EQ(suggestion.arrangement.kind, ArrangementKind::kRing);
    EXPECT_EQ(suggestion.arrangement.order, all_nodes(4));
  }
  rates.at(2, 3).bits_per_s.reset();
  EXPECT_TRUE(suggest(rates, usual_work()).empty());
}

}  // namespace
}  // namespace kimesh::suggest_test
