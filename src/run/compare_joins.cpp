#include "kimesh/run/compare_joins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kimesh/policy/policy_options.h"
#include "kimesh/run/check_together.h"
#include "kimesh/run/options.h"
#include "kimesh/run/predict.h"

namespace kimesh {
namespace {

// A steady state of policies that measure links, and of those that do not.
constexpr Round kRoundsMeasuring = 200, kRoundsOthers = 40;

}  // namespace

ComparedMessages compared_messages(const RunConfig& config) {
  // A kept element travels with its index, which doubles its size.
  constexpr double kValueAndPlace = 2;
  ComparedMessages messages{config};
  if (const auto ratio = config.compression.policy->kept_ratio()) {
    messages.share = std::min(1.0, kValueAndPlace * *ratio);
    messages.words = "messages of this config's policy";
    return messages;
  }
  messages.are_own = config.compression.policy->sends_everything();
  if (!messages.are_own)
    messages.words =
        "dense messages, since this config's policy makes messages that suit their links";
  messages.config.compression = CompressionOptions();
  messages.config.round_time.reset();
  return messages;
}

Result<double> simulated_round(const ComparedMesh& mesh, const RunConfig& config,
                               const ArrangedTopology& joined) {
  const auto plan = make_plan(joined.topology, mesh.layout, shard_elements_max(config, mesh.scale));
  if (!plan) return plan.error();
  std::vector<double> weights;
  SimulatedCosts costs = mesh.costs;
  costs.node_gradients.clear();
  for (const NodeIndex node : joined.node_at) {
    weights.push_back(mesh.weights[node]);
    if (!mesh.costs.node_gradients.empty())
      costs.node_gradients.push_back(mesh.costs.node_gradients[node]);
  }
  const PolicyOptions& policy = *config.compression.policy;
  const bool measures = !policy.sends_everything() && !policy.kept_ratio();
  const Prediction prediction = predict(config, joined.topology, *plan, weights, costs,
                                        measures ? kRoundsMeasuring : kRoundsOthers);
  if (!prediction.trouble.empty())
    return Error{ErrorCode::kUserInput, "there is no prediction: " + prediction.trouble};
  return prediction.round_s;
}

ArrangedTopology as_it_is(const ComparedMesh& mesh) {
  ArrangedTopology same{mesh.topology, all_nodes(mesh.topology.nodes.size())};
  take_rates(same.topology, same.node_at, mesh.rates);
  return same;
}

Result<std::vector<ComparedJoins>> compare_joins(const ComparedMesh& mesh, const RunConfig& config,
                                                 std::size_t laid_out_max) {
  const ComparedMessages messages = compared_messages(config);
  const RoundWork work = round_work(mesh.costs, mesh.layout.size(), messages.share,
                                    std::ranges::max(local_steps(messages.config, mesh.topology)));
  std::vector<ComparedJoins> all;
  for (Suggestion& suggestion : suggest(mesh.rates, work, laid_out_max)) {
    ArrangedTopology made = arranged(mesh.topology, suggestion.arrangement, mesh.rates);
    if (!check_together(config, "", made.topology).empty()) continue;
    const auto round_s = simulated_round(mesh, messages.config, made);
    if (!round_s) return round_s.error();
    all.push_back({std::move(suggestion), std::move(made), *round_s});
  }
  std::ranges::stable_sort(all, {}, &ComparedJoins::round_s);
  return all;
}

std::size_t unknown_pairs(const PairRates& rates) {
  std::size_t unknown = 0;
  for (NodeIndex from = 0; from < rates.nodes(); ++from)
    for (NodeIndex to = 0; to < rates.nodes(); ++to)
      unknown += from == to || rates.at(from, to).bits_per_s ? 0 : 1;
  return unknown;
}

std::string joins_text(const Arrangement& arrangement, const TopologyFile& topology) {
  const auto name = [&](NodeIndex node) { return topology.nodes[node].name; };
  const bool is_ring = arrangement.kind == ArrangementKind::kRing;
  std::vector<std::string> parts;
  if (is_ring)
    for (const NodeIndex node : arrangement.order) parts.push_back(name(node));
  for (const auto& [node, parent] : parent_pairs(arrangement))
    parts.push_back(name(node) + " on " + name(parent));
  std::string text = fmt::format("{}: ", kind_name(arrangement.kind));
  if (arrangement.kind == ArrangementKind::kServers) {
    for (const NodeIndex node : arrangement.servers) parts.push_back(name(node));
    text += "servers ";
  }
  text += fmt::format("{}", fmt::join(parts, is_ring ? " > " : ", "));
  if (arrangement.shard_weights.empty()) return text;
  std::vector<double> weights;
  for (const NodeIndex server : arrangement.servers)
    weights.push_back(arrangement.shard_weights[server]);
  text += fmt::format(", shards {:.2g}", fmt::join(weights, " "));
  return text;
}

}  // namespace kimesh
