#include "suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/policy/policy_options.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/text_file.h"
#include "kimesh/run/options.h"
#include "kimesh/run/predict.h"
#include "kimesh/run/suggest.h"
#include "kimesh/topology/placed_topology.h"
#include "kimesh/util/units.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Replaces declared rates by those that each sender of a run recorded last. Errors: UserInput, Io.
Status take_measured(const std::string& run, const TopologyFile& topology, PairRates& rates) {
  bool found = false;
  for (NodeIndex from = 0; from < topology.nodes.size(); ++from) {
    const RunFolder folder(run);
    const std::string& name = topology.nodes[from].name;
    LineFollower lines(folder.events(name), folder.earlier_events(name));
    for (;;) {
      const auto line = lines.next();
      if (!line) return line.error();
      if (!*line) break;
      const auto record = parse_record(**line);
      const auto* round = record ? std::get_if<RoundRecord>(&*record) : nullptr;
      if (round == nullptr) continue;
      for (const LinkRecord& link : round->links) {
        const auto to = topology.find_node(link.to);
        if (!to || !link.rate_bits_per_s) continue;
        rates.at(from, *to).bits_per_s = *link.rate_bits_per_s;
        rates.at(from, *to).is_default = false;
        found = true;
      }
    }
  }
  if (found) return ok_status();
  return Error{ErrorCode::kUserInput,
               fmt::format("--measured: {} tells no rate of a link between nodes of this topology. "
                           "Name the folder of a run in which they sent to each other.",
                           run)};
}

// The messages for which arrangements are compared: dense ones, or those of a policy that keeps the
// same share at every rate.
struct Messages {
  RunConfig config;
  double share = 1;  // size relative to a dense message
  std::string words = "dense messages";
};
Messages messages_of(const RunConfig& config) {
  // A kept element travels with its index, which doubles its size.
  constexpr double kValueAndPlace = 2;
  Messages messages{config};
  if (const auto ratio = config.compression.policy->kept_ratio()) {
    messages.share = std::min(1.0, kValueAndPlace * *ratio);
    messages.words = "messages of this config's policy";
    return messages;
  }
  if (!config.compression.policy->sends_everything())
    messages.words =
        "dense messages, since this config's policy makes messages that suit their links";
  messages.config.compression = CompressionOptions();
  messages.config.round_time.reset();
  return messages;
}

struct Row {
  Suggestion suggestion;
  ArrangedTopology made;
  double round_s = 0;  // simulated
};

// Errors: UserInput, with the reason why there is no prediction.
Result<double> simulated_round(const Mesh& mesh, const Messages& messages,
                               const TopologyFile& topology, const std::vector<NodeIndex>& node_at,
                               const SimulatedCosts& costs) {
  const auto plan = make_plan(topology, mesh.plan().layout);
  if (!plan) return plan.error();
  std::vector<double> weights;
  for (const NodeIndex node : node_at) weights.push_back(mesh.objective().weights()[node]);
  const Prediction prediction = predict(messages.config, topology, *plan, weights, costs);
  if (!prediction.trouble.empty())
    return Error{ErrorCode::kUserInput, "there is no prediction: " + prediction.trouble};
  return prediction.round_s;
}

std::string joins_text(const Arrangement& arrangement, const TopologyFile& topology) {
  const auto name = [&](NodeIndex node) { return topology.nodes[node].name; };
  std::vector<std::string> parts;
  if (arrangement.kind == ArrangementKind::kRing)
    for (const NodeIndex node : arrangement.order) parts.push_back(name(node));
  if (arrangement.kind == ArrangementKind::kTree)
    for (const auto& [node, parent] : parent_pairs(arrangement))
      parts.push_back(name(node) + " on " + name(parent));
  if (arrangement.kind == ArrangementKind::kServers) {
    for (const NodeIndex node : arrangement.servers) parts.push_back(name(node));
    return fmt::format("servers {}", fmt::join(parts, ", "));
  }
  const bool is_ring = arrangement.kind == ArrangementKind::kRing;
  return fmt::format("{}", fmt::join(parts, is_ring ? " > " : ", "));
}

std::string time_text(double round_s) {
  return fmt::format("{:>10}", format_duration(from_seconds(round_s)));
}

std::string row_text(const Row& row, const TopologyFile& topology, bool is_best) {
  const Arrangement& arrangement = row.suggestion.arrangement;
  std::string text = fmt::format("{}  {}: {}", time_text(row.round_s), kind_name(arrangement.kind),
                                 joins_text(arrangement, topology));
  if (!arrangement.shard_weights.empty())
    text += fmt::format(", shards {:.2g}", fmt::join(arrangement.shard_weights, " "));
  return text + (is_best ? "  <-" : "");
}

bool shares_interfaces(const TopologyFile& topology) {
  return std::ranges::any_of(topology.nodes, [](const NodeSpec& node) {
    return node.sending_cap_bits_per_s() || node.downlink_bits_per_s;
  });
}

// How much shorter another arrangement could be, as far as the search tells.
std::string certainty(const Suggestion& best, const TopologyFile& topology) {
  const Arrangement& arrangement = best.arrangement;
  if (!arrangement.shard_weights.empty()) return "its shards were found by trial";
  if (arrangement.kind == ArrangementKind::kServers) return "its servers were found by trial";
  if (shares_interfaces(topology) && arrangement.kind != ArrangementKind::kRing)
    return "links share interfaces: the search gave each link all of them, the simulation shared "
           "them";
  const char* kind = kind_name(arrangement.kind);
  if (best.is_exact) return fmt::format("no other {} has shorter rounds", kind);
  const double gap = 1 - best.bound_s / best.round_s;
  return fmt::format("no other {} can have rounds shorter by more than {:.0f} %", kind, 100 * gap);
}

NewJoins joins_of(const Row& row) {
  const TopologyFile& topology = row.made.topology;
  const Arrangement& arrangement = row.suggestion.arrangement;
  NewJoins joins;
  joins.kind = kind_name(arrangement.kind);
  for (const NodeSpec& node : topology.nodes) joins.nodes.push_back(node.name);
  if (arrangement.kind == ArrangementKind::kServers)
    for (const NodeIndex server : arrangement.servers)
      joins.servers.push_back(topology.nodes[server].name);
  for (const auto& [node, parent] : parent_pairs(arrangement))
    joins.parents.push_back({topology.nodes[node].name, topology.nodes[parent].name});
  if (!arrangement.shard_weights.empty())
    for (const NodeIndex before : row.made.node_at)
      joins.shard_weights.push_back(arrangement.shard_weights[before]);
  joins.carries = [&topology](const std::string& from, const std::string& to) {
    return topology.kind->carries(topology, *topology.find_node(from), *topology.find_node(to));
  };
  return joins;
}

// How many rates are those of links.default, and how many are missing.
std::string rates_text(const PairRates& rates) {
  std::size_t unknown = 0, by_default = 0;
  for (NodeIndex from = 0; from < rates.nodes(); ++from)
    for (NodeIndex to = 0; to < rates.nodes(); ++to) {
      if (from == to) continue;
      unknown += rates.at(from, to).bits_per_s ? 0 : 1;
      by_default += rates.at(from, to).is_default && rates.at(from, to).bits_per_s ? 1 : 0;
    }
  std::string text;
  if (by_default > 0)
    text += fmt::format("{} of {} directed pairs have the rate of links.default\n", by_default,
                        rates.nodes() * (rates.nodes() - 1));
  if (unknown > 0)
    text += fmt::format(
        "{} of {} directed pairs have no rate that is known, and are not used: to learn them, run "
        "the nodes for a while as kind: parameter_server with servers: all, and add --measured "
        "RUN\n",
        unknown, rates.nodes() * (rates.nodes() - 1));
  return text;
}

Status write_best(const Row& best, const std::string& from, const std::string& to) {
  const auto text = join_anew(from, to, joins_of(best));
  if (!text) return text.error();
  return write_whole(to, std::string_view(*text));
}

}  // namespace

int suggest_joins(const Mesh& mesh, const PlanOptions& options, const SimulatedCosts& costs) {
  std::error_code ignored;
  if (std::filesystem::exists(options.suggest, ignored))
    return fail(
        {ErrorCode::kUserInput,
         options.suggest + " is there already and is not written over. Name another file."});
  const TopologyFile& topology = mesh.topology();
  PairRates rates = PairRates::declared(topology);
  for (const std::string& run : options.measured)
    if (const Status taken = take_measured(run, topology, rates); !taken)
      return fail(taken.error());
  const Messages messages = messages_of(mesh.config());
  const RoundWork work = round_work(costs, mesh.plan().layout.size(), messages.share,
                                    std::ranges::max(local_steps(messages.config, topology)));
  const std::vector<Suggestion> found = suggest(rates, work);
  if (found.empty())
    return fail({ErrorCode::kUserInput,
                 "the rates that are known join the nodes in no way.\n" + rates_text(rates)});

  std::vector<Row> rows;
  for (const Suggestion& suggestion : found) {
    ArrangedTopology made = arranged(topology, suggestion.arrangement, rates);
    const auto round_s = simulated_round(mesh, messages, made.topology, made.node_at, costs);
    if (!round_s) return fail(round_s.error());
    rows.push_back({suggestion, std::move(made), *round_s});
  }
  const auto best = std::ranges::min_element(rows, {}, &Row::round_s);
  say(fmt::format("a round of {} takes:", messages.words));
  const std::vector<NodeIndex> in_order = all_nodes(topology.nodes.size());
  TopologyFile known = topology;
  take_rates(known, in_order, rates);
  const auto as_it_is = simulated_round(mesh, messages, known, in_order, costs);
  if (as_it_is) say(time_text(*as_it_is) + "  the topology as it is");
  for (const Row& row : rows) say(row_text(row, topology, &row == &*best));
  put(rates_text(rates));
  say(certainty(best->suggestion, topology));
  const Status written = write_best(*best, mesh.files().topology_path, options.suggest);
  if (!written) return fail(written.error());
  say(fmt::format("written: {}", options.suggest));
  return kExitDone;
}

}  // namespace kimesh::cli
