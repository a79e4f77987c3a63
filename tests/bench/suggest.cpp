// What `kimesh plan --suggest` brings. On drawn rates: a dense round, as the simulator has it, of
// the joins that it finds over that of a ring in the file's order, the gap to the bound of each
// kind, and the time of the search. Of every topology that ships: a dense round of the model of
// configs/digits.yaml as it ships, and of the joins that are found.
//
//   bench_suggest [--seeds N] [--json FILE]
#include "kimesh/run/suggest.h"

#include <chrono>
#include <cmath>
#include <random>

#include "kimesh/run/compare_joins.h"
#include "kimesh/run/predict.h"
#include "kimesh/util/check.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/bench/timed_run.h"
#include "tests/shipped.h"

namespace kimesh::bench {
namespace {

constexpr std::size_t kElements = 100'000;
constexpr double kLeastRate = 0.5e6, kMostRate = 20e6;

TopologyFile nodes_of(std::size_t count, std::mt19937_64& random, bool with_uplinks) {
  std::uniform_real_distribution<double> exponent(std::log(kLeastRate), std::log(kMostRate));
  TopologyFile topology;
  for (std::size_t i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    if (with_uplinks) node.uplink_bits_per_s = std::exp(exponent(random));
    topology.nodes.push_back(node);
  }
  KIMESH_CHECK(set_kind(topology, "parameter_server").empty(), "all pairs are joined");
  for (NodeIndex from = 0; from < count; ++from)
    for (NodeIndex to = 0; to < count; ++to) {
      if (from == to) continue;
      LinkSpec link;
      link.rate = RateTrace{{{0, std::exp(exponent(random))}}};
      topology.links.push_back({from, to, link});
    }
  return topology;
}

double simulated(const TopologyFile& topology, const Arrangement& arrangement,
                 const PairRates& rates) {
  const ArrangedTopology made = arranged(topology, arrangement, rates);
  const auto plan = make_plan(made.topology, Layout::vector(kElements));
  KIMESH_CHECK(plan.ok(), "there are more elements than nodes");
  const std::vector<double> weights(topology.nodes.size(),
                                    1.0 / static_cast<double>(topology.nodes.size()));
  const Prediction prediction = predict(RunConfig(), made.topology, *plan, weights, {});
  KIMESH_CHECK(prediction.trouble.empty(), "a small mesh can be simulated");
  return prediction.round_s;
}

struct Found {
  double ratio = 0, search_s = 0;
  double ring_gap = 0, tree_gap = 0;
};

Found measure(std::size_t nodes, unsigned seed, bool with_uplinks) {
  std::mt19937_64 random(seed);
  const TopologyFile topology = nodes_of(nodes, random, with_uplinks);
  const PairRates rates = PairRates::declared(topology);
  const RoundWork work = round_work(SimulatedCosts(), kElements);
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<Suggestion> all = suggest(rates, work);
  Found found;
  found.search_s = to_seconds(std::chrono::steady_clock::now() - begun);
  double best = simulated(topology, ring_of(all_nodes(nodes)), rates);
  const double before = best;
  for (const Suggestion& suggestion : all) {
    best = std::min(best, simulated(topology, suggestion.arrangement, rates));
    if (!suggestion.arrangement.shard_weights.empty()) continue;
    const double gap = 1 - suggestion.bound_s / suggestion.round_s;
    if (suggestion.arrangement.kind == ArrangementKind::kRing) found.ring_gap = gap;
    if (suggestion.arrangement.kind == ArrangementKind::kTree) found.tree_gap = gap;
  }
  found.ratio = best / before;
  return found;
}

// Traces count as their means.
void measure_shipped(const std::string& name, Figures& figures) {
  auto files = loaded_or_exit(
      load_mesh_files(KIMESH_SOURCE_DIR "/configs/digits.yaml", test::shipped_path(name)));
  const std::vector<double> weights = declared_weights(files.topology);
  auto objective = or_exit(make_training_mesh(files.config, files.topology.nodes.size(), weights));
  const auto mesh = or_exit(Mesh::make(std::move(files), std::move(objective)));
  const PairRates rates = PairRates::declared(mesh->topology());
  const SimulatedCosts costs;
  const ComparedMesh compared{mesh->topology(), mesh->plan().layout, mesh->objective().weights(),
                              rates, costs};
  const RunConfig config = compared_messages(mesh->config()).config;
  const double before = or_exit(simulated_round(compared, config, as_it_is(compared)));
  const auto found = or_exit(compare_joins(compared, mesh->config()));
  const std::string shipped = name + ", as it ships";
  figures.add(shipped, "ms", {1e3 * before});
  for (const ComparedJoins& row : found)
    figures.add("  " + joins_text(row.suggestion.arrangement, mesh->topology()), "ms",
                {1e3 * row.round_s});
  figures.add("  the best over what ships", "x", {found.front().round_s / before});
}

int run(int count, char** words) {
  const Arguments said(count, words, {"--seeds", "--json"});
  const auto seeds = static_cast<unsigned>(std::stoul(said("--seeds", "4")));
  Figures figures;
  for (const bool with_uplinks : {false, true})
    for (const std::size_t nodes : {4, 8, 9, 12, 16}) {
      std::vector<double> ratios, times, rings, trees;
      for (unsigned seed = 1; seed <= seeds; ++seed) {
        const Found found = measure(nodes, seed, with_uplinks);
        ratios.push_back(found.ratio);
        times.push_back(found.search_s);
        rings.push_back(100 * found.ring_gap);
        trees.push_back(100 * found.tree_gap);
      }
      const std::string of = fmt::format("{} nodes{}", nodes, with_uplinks ? " with uplinks" : "");
      figures.add("round over the file's ring, " + of, "x", ratios);
      figures.add("gap of the ring, " + of, "%", rings);
      figures.add("gap of the tree, " + of, "%", trees);
      figures.add("search, " + of, "s", times);
    }
  for (const std::string& name : test::shipped_topologies()) measure_shipped(name, figures);
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int argc, char** argv) {
  return kimesh::bench::run(argc, argv);
}
