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

// The searches for servers and for sizes of shards each take this part of the limit (a quarter).
constexpr std::size_t kPartOfTrials = 4;

bool can_serve(const RoundModel& model, NodeIndex server) {
  for (NodeIndex node = 0; node < model.nodes(); ++node)
    if (node != server && !(model.joins(node, server) && model.joins(server, node))) return false;
  return true;
}

// How long a shard of this size is on its way to a server from the slowest node, and from there to
// the slowest node.
double way_s(const RoundModel& model, NodeIndex server, double share) {
  double to = 0, from = 0;
  for (NodeIndex node = 0; node < model.nodes(); ++node) {
    if (node == server) continue;
    to = std::max(to, model.wire_s(node, server, share) + model.latency_s(node, server));
    from = std::max(from, model.wire_s(server, node, share) + model.latency_s(server, node));
  }
  return to + from;
}

// The servers whose equal shards are longest on their way.
std::vector<NodeIndex> slowest(const RoundModel& model, std::vector<NodeIndex> servers,
                               std::size_t count) {
  if (count >= servers.size()) return servers;
  const double share = 1 / static_cast<double>(servers.size());
  std::vector<std::pair<double, NodeIndex>> ways;
  for (const NodeIndex server : servers) ways.push_back({-way_s(model, server, share), server});
  std::ranges::stable_sort(ways);
  servers.clear();
  for (std::size_t i = 0; i < count; ++i) servers.push_back(ways[i].second);
  std::ranges::sort(servers);
  return servers;
}

// How many servers can be tried for removal at each step, down from `able` ones.
std::size_t removals(std::size_t able, std::size_t nodes, std::size_t messages) {
  const std::size_t all_steps = able * (able + 1) * (nodes - 1);  // one arrangement a step
  return std::clamp<std::size_t>(messages / std::max<std::size_t>(all_steps, 1), 2, able + 1) - 1;
}

// Sizes for which all shards of servers are about as long on their way.
void balance(const RoundModel& model, Arrangement& arrangement) {
  constexpr double kMost = 16;
  double mean = 0;
  for (const NodeIndex server : arrangement.servers)
    mean += way_s(model, server, 1) / static_cast<double>(arrangement.servers.size());
  if (mean == 0) return;
  for (const NodeIndex server : arrangement.servers)
    arrangement.shard_weights[server] =
        mean / std::clamp(way_s(model, server, 1), mean / kMost, mean * kMost);
}

// Makes one node's shard after another larger or smaller, as long as that makes rounds shorter.
Suggestion with_better_shards(const RoundModel& model, const Suggestion& plain,
                              std::size_t laid_out_max) {
  Suggestion best = plain;
  if (plain.arrangement.servers.size() < 2) return best;
  best.is_exact = false;
  best.arrangement.shard_weights.assign(model.nodes(), 1);
  const std::size_t messages = messages_of(plain.arrangement, model.nodes());
  std::size_t left = messages_max(laid_out_max) / kPartOfTrials / messages;
  const auto take_better = [&](Arrangement&& next) {
    if (left == 0) return;
    --left;
    const double round_s = model.round_s(next);
    ++best.tried;
    best.messages += messages;
    if (round_s >= best.round_s) return;
    best.round_s = round_s;
    best.arrangement = std::move(next);
  };
  std::vector<NodeIndex> owners = plain.arrangement.servers;
  if (left < owners.size() * kWeightFactors.size()) {
    Arrangement balanced = best.arrangement;
    if (balanced.kind == ArrangementKind::kServers) balance(model, balanced);
    take_better(std::move(balanced));
    owners = slowest(model, owners, std::max<std::size_t>(1, left / kWeightFactors.size()));
  }
  for (unsigned round = 0; round < kWeightRounds; ++round) {
    const double before = best.round_s;
    for (const NodeIndex owner : owners)
      for (const double factor : kWeightFactors) {
        Arrangement next = best.arrangement;
        next.shard_weights[owner] *= factor;
        take_better(std::move(next));
      }
    if (best.round_s > kWorthwhile * before) break;
  }
  return best.round_s < kWorthwhile * plain.round_s ? best : plain;
}

}  // namespace

std::size_t messages_of(const Arrangement& arrangement, std::size_t nodes) {
  return arrangement.servers.size() * 2 * (nodes - 1);
}
std::size_t messages_max(std::size_t laid_out_max) {
  return laid_out_max * kExactNodesMax * 2 * (kExactNodesMax - 1);
}

std::vector<NodeIndex> all_nodes(std::size_t count) {
  std::vector<NodeIndex> nodes(count);
  std::iota(nodes.begin(), nodes.end(), NodeIndex{0});
  return nodes;
}

double Search::round_s(const Arrangement& arrangement) {
  ++tried_;
  messages_ += messages_of(arrangement, model_.nodes());
  return model_.round_s(arrangement);
}

void Search::consider(double bound_s, const Arrangement& arrangement) {
  if (!is_worth(bound_s)) return;
  if (best_ && messages_of(arrangement, model_.nodes()) > messages_left()) {
    left_out_s_ = std::min(left_out_s_, bound_s);
    return;
  }
  const double round = round_s(arrangement);
  if (round >= best_s_) return;
  best_s_ = round;
  best_ = arrangement;
}

std::optional<Suggestion> Search::take(std::optional<double> bound_s) {
  if (!best_) return std::nullopt;
  Suggestion suggestion;
  suggestion.arrangement = std::move(*best_);
  suggestion.round_s = best_s_;
  suggestion.tried = tried_;
  suggestion.messages = messages_;
  suggestion.bound_s = std::min(bound_s.value_or(left_out_s_), best_s_);
  suggestion.is_exact = suggestion.bound_s >= (1 - kRounding) * best_s_;
  return suggestion;
}

// Tries each node as the only server, and then all able nodes together, from which it removes the
// least useful server again and again. In large meshes only the slowest are tried for that, and at
// last the slowest is removed untried: then those sets are laid out first whose slowest server is
// the fastest.
std::optional<Suggestion> best_servers(const RoundModel& model, std::size_t laid_out_max) {
  Search search(model, laid_out_max / kPartOfTrials);
  std::vector<NodeIndex> able = all_nodes(model.nodes());
  std::erase_if(able, [&](NodeIndex node) { return !can_serve(model, node); });
  for (const NodeIndex server : able) search.consider(0, servers_of({server}));
  const std::size_t tried = removals(able.size(), model.nodes(), search.messages_left());
  std::vector<std::pair<double, std::vector<NodeIndex>>> sets;
  for (std::vector<NodeIndex> servers = able; servers.size() > 1;) {
    const NodeIndex slow = slowest(model, servers, 1).front();
    sets.push_back({way_s(model, slow, 1 / static_cast<double>(servers.size())), servers});
    std::pair<double, NodeIndex> least{kNever, slow};
    for (const NodeIndex node : slowest(model, servers, tried)) {
      if (tried == 1) break;
      std::vector<NodeIndex> rest = servers;
      std::erase(rest, node);
      if (const double round_s = search.round_s(servers_of(rest)); round_s < least.first)
        least = {round_s, node};
    }
    std::erase(servers, least.second);
  }
  if (tried == 1) std::ranges::stable_sort(sets, {}, [](const auto& set) { return set.first; });
  for (const auto& [way, servers] : sets) search.consider(0, servers_of(servers));
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
    const Suggestion other = with_better_shards(model, *found, laid_out_max);
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
