#include "kimesh/run/suggest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "kimesh/util/check.h"
#include "suggest_kinds.h"

namespace kimesh {
namespace {

constexpr double kRounding = 1e-9;
// Shards of different sizes are suggested only where they shorten a round to this share.
constexpr double kWorthwhile = 0.99;
constexpr unsigned kWeightRounds = 4;
constexpr std::array kWeightFactors{0.25, 0.5, 0.8, 1.25, 2.0, 4.0};

bool can_serve(const RoundModel& model, NodeIndex server) {
  for (NodeIndex node = 0; node < model.nodes(); ++node)
    if (node != server && !(model.joins(node, server) && model.joins(server, node))) return false;
  return true;
}

// Makes one node's shard after another larger or smaller, as long as that makes rounds shorter.
Suggestion with_better_shards(const RoundModel& model, const Suggestion& plain) {
  Suggestion best = plain;
  if (plain.arrangement.servers.size() < 2) return best;
  best.is_exact = false;
  best.arrangement.shard_weights.assign(model.nodes(), 1);
  for (unsigned round = 0; round < kWeightRounds; ++round) {
    const double before = best.round_s;
    for (const NodeIndex owner : plain.arrangement.servers)
      for (const double factor : kWeightFactors) {
        Arrangement next = best.arrangement;
        next.shard_weights[owner] *= factor;
        const double round_s = model.round_s(next);
        ++best.tried;
        if (round_s >= best.round_s) continue;
        best.round_s = round_s;
        best.arrangement = std::move(next);
      }
    if (best.round_s > kWorthwhile * before) break;
  }
  return best.round_s < kWorthwhile * plain.round_s ? best : plain;
}

}  // namespace

std::vector<NodeIndex> all_nodes(std::size_t count) {
  std::vector<NodeIndex> nodes(count);
  std::iota(nodes.begin(), nodes.end(), NodeIndex{0});
  return nodes;
}

void Search::consider(double bound_s, const Arrangement& arrangement) {
  if (!is_worth(bound_s)) return;
  if (tried_ >= laid_out_max_) {
    left_out_s_ = std::min(left_out_s_, bound_s);
    return;
  }
  ++tried_;
  const double round_s = model_.round_s(arrangement);
  if (round_s >= best_s_) return;
  best_s_ = round_s;
  best_ = arrangement;
}

std::optional<Suggestion> Search::take(std::optional<double> bound_s) {
  if (!best_) return std::nullopt;
  Suggestion suggestion;
  suggestion.arrangement = std::move(*best_);
  suggestion.round_s = best_s_;
  suggestion.tried = tried_;
  suggestion.bound_s = std::min(bound_s.value_or(left_out_s_), best_s_);
  suggestion.is_exact = suggestion.bound_s >= (1 - kRounding) * best_s_;
  return suggestion;
}

// Tries each node as the only server, and then all able nodes together, from which it removes the
// least useful server again and again.
std::optional<Suggestion> best_servers(const RoundModel& model, std::size_t laid_out_max) {
  Search search(model, laid_out_max);
  std::vector<NodeIndex> able = all_nodes(model.nodes());
  std::erase_if(able, [&](NodeIndex node) { return !can_serve(model, node); });
  for (const NodeIndex server : able) search.consider(0, servers_of({server}));
  for (std::vector<NodeIndex> servers = able; servers.size() > 1;) {
    search.consider(0, servers_of(servers));
    const auto without = [&](NodeIndex node) {
      std::vector<NodeIndex> rest = servers;
      std::erase(rest, node);
      return model.round_s(servers_of(rest));
    };
    servers.erase(std::ranges::min_element(servers, {}, without));
  }
  return search.take(0.0);
}

RoundWork round_work(const SimulatedCosts& costs, std::size_t elements, double share,
                     unsigned local_steps) {
  const auto count = static_cast<double>(elements);
  RoundWork work;
  work.bytes = sizeof(float) * count * share;
  work.gradient_s = costs.node_gradients.empty()
                        ? to_seconds(costs.gradient) * local_steps
                        : to_seconds(std::ranges::max(costs.node_gradients));
  work.message_s = to_seconds(costs.hop) + 2 * to_seconds(costs.work);
  work.handling_s = (costs.encode_s_per_element + costs.apply_s_per_element) * count;
  return work;
}

Arrangement ring_of(std::vector<NodeIndex> order) {
  Arrangement ring;
  ring.kind = ArrangementKind::kRing;
  ring.servers = all_nodes(order.size());
  ring.order = std::move(order);
  return ring;
}

Arrangement tree_of(std::vector<NodeIndex> parents) {
  Arrangement tree;
  tree.kind = ArrangementKind::kTree;
  tree.servers = all_nodes(parents.size());
  tree.parents = std::move(parents);
  return tree;
}

Arrangement servers_of(std::vector<NodeIndex> servers) {
  Arrangement arrangement;
  arrangement.kind = ArrangementKind::kServers;
  arrangement.servers = std::move(servers);
  return arrangement;
}

std::vector<std::pair<NodeIndex, NodeIndex>> parent_pairs(const Arrangement& arrangement) {
  std::vector<std::pair<NodeIndex, NodeIndex>> pairs;
  for (NodeIndex node = 0; node < arrangement.parents.size(); ++node)
    if (arrangement.parents[node] != node) pairs.push_back({node, arrangement.parents[node]});
  return pairs;
}

const char* kind_name(ArrangementKind kind) {
  constexpr std::array kNames{"ring", "tree", "parameter_server"};
  return kNames[static_cast<std::size_t>(kind)];
}

PairRates PairRates::declared(const TopologyFile& topology) {
  PairRates rates(topology.nodes.size());
  for (NodeIndex from = 0; from < rates.nodes(); ++from)
    for (NodeIndex to = 0; to < rates.nodes(); ++to) {
      if (from == to) continue;
      const LinkSpec& link = topology.link(from, to);
      PairRate& pair = rates.at(from, to);
      pair.delay_s = to_seconds(link.delay);
      pair.is_default = &link == &topology.default_link;
      const auto limit = [&](const std::optional<double>& bits_per_s) {
        if (bits_per_s)
          pair.bits_per_s = std::min(pair.bits_per_s.value_or(*bits_per_s), *bits_per_s);
      };
      if (link.rate) limit(link.rate->mean());
      limit(topology.nodes[from].sending_cap_bits_per_s());
      limit(topology.nodes[to].downlink_bits_per_s);
    }
  return rates;
}

std::vector<Suggestion> suggest(const PairRates& rates, const RoundWork& work,
                                std::size_t laid_out_max) {
  KIMESH_CHECK(rates.nodes() >= 2, "a mesh has two nodes");
  const RoundModel model(rates, work);
  std::vector<Suggestion> all;
  for (const auto best : {best_ring, best_tree, best_servers}) {
    const auto found = best(model, laid_out_max);
    if (!found) continue;
    all.push_back(*found);
    const Suggestion other = with_better_shards(model, *found);
    if (!other.arrangement.shard_weights.empty()) all.push_back(other);
  }
  return all;
}

void take_rates(TopologyFile& topology, const std::vector<NodeIndex>& node_at,
                const PairRates& rates) {
  std::vector<TopologyFile::NamedLink> links;
  for (NodeIndex from = 0; from < node_at.size(); ++from)
    for (NodeIndex to = 0; to < node_at.size(); ++to) {
      if (from == to || !topology.kind->carries(topology, from, to)) continue;
      const PairRate& pair = rates.at(node_at[from], node_at[to]);
      LinkSpec spec;
      spec.delay = from_seconds(pair.delay_s);
      if (pair.bits_per_s) spec.rate = RateTrace{{{0, *pair.bits_per_s}}};
      links.push_back({from, to, spec});
    }
  topology.links = std::move(links);
}

ArrangedTopology arranged(const TopologyFile& topology, const Arrangement& arrangement,
                          const PairRates& rates) {
  ArrangedTopology result;
  TopologyFile& made = result.topology;
  made = topology;
  result.node_at = arrangement.kind == ArrangementKind::kRing ? arrangement.order
                                                              : all_nodes(topology.nodes.size());
  const std::vector<NodeIndex>& node_at = result.node_at;
  for (std::size_t i = 0; i < node_at.size(); ++i) {
    made.nodes[i] = topology.nodes[node_at[i]];
    made.nodes[i].shard_weight.reset();
    if (!arrangement.shard_weights.empty())
      made.nodes[i].shard_weight = arrangement.shard_weights[node_at[i]];
  }
  made.servers = arrangement.kind == ArrangementKind::kServers ? arrangement.servers
                                                               : all_nodes(node_at.size());
  std::string parents;
  for (const auto& [node, parent] : parent_pairs(arrangement))
    parents += (parents.empty() ? "parents: {" : ", ") + made.nodes[node].name + ": " +
               made.nodes[parent].name;
  const auto problems =
      set_kind(made, kind_name(arrangement.kind), parents.empty() ? "" : parents + "}");
  KIMESH_CHECK(problems.empty(), "an arrangement is a topology");
  take_rates(made, node_at, rates);
  return result;
}

}  // namespace kimesh
