#include "suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

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

// What a sender knew last of its links, in place of what is declared. Errors: UserInput, Io.
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

// What is compared: dense messages, or such as keep a share of them at any rate.
struct Messages {
  RunConfig config;
  double share = 1;
  std::string words = "dense messages";
};
Messages messages_of(const RunConfig& config) {
  // Of a value that travels with its place.
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

RoundWork work_of(const Mesh& mesh, const Messages& messages, const SimulatedCosts& costs) {
  const auto elements = static_cast<double>(mesh.plan().layout.size());
  RoundWork work;
  work.bytes = sizeof(float) * elements * messages.share;
  work.gradient_s =
      to_seconds(costs.gradient) * std::ranges::max(local_steps(messages.config, mesh.topology()));
  work.message_s = to_seconds(costs.hop) + 2 * to_seconds(costs.work);
  work.handling_s = (costs.encode_s_per_element + costs.apply_s_per_element) * elements;
  return work;
}

struct Row {
  std::optional<Suggestion> suggestion;  // nothing: the file as it is
  double round_s = 0;                    // simulated
};

// Errors: UserInput, with what is in the way of a prediction.
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
    for (NodeIndex node = 0; node < arrangement.parents.size(); ++node)
      if (arrangement.parents[node] != node)
        parts.push_back(name(node) + " on " + name(arrangement.parents[node]));
  if (arrangement.kind == ArrangementKind::kServers) {
    for (const NodeIndex node : arrangement.servers) parts.push_back(name(node));
    return fmt::format("servers {}", fmt::join(parts, ", "));
  }
  const bool is_ring = arrangement.kind == ArrangementKind::kRing;
  return fmt::format("{}", fmt::join(parts, is_ring ? " > " : ", "));
}

std::string row_text(const Row& row, const TopologyFile& topology, bool is_best) {
  const std::string time = fmt::format("{:>10}", format_duration(from_seconds(row.round_s)));
  if (!row.suggestion) return fmt::format("{}  the topology as it is", time);
  const Arrangement& arrangement = row.suggestion->arrangement;
  std::string text = fmt::format("{}  {}: {}", time, kind_name(arrangement.kind),
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

// What the search knows of the best.
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

NewJoins joins_of(const Suggestion& suggestion, const ArrangedTopology& made) {
  const TopologyFile& topology = made.topology;
  const Arrangement& arrangement = suggestion.arrangement;
  NewJoins joins;
  joins.kind = kind_name(arrangement.kind);
  for (const NodeSpec& node : topology.nodes) joins.nodes.push_back(node.name);
  if (arrangement.kind == ArrangementKind::kServers)
    for (const NodeIndex server : arrangement.servers)
      joins.servers.push_back(topology.nodes[server].name);
  for (NodeIndex node = 0; node < arrangement.parents.size(); ++node)
    if (arrangement.parents[node] != node)
      joins.parents.push_back(
          {topology.nodes[node].name, topology.nodes[arrangement.parents[node]].name});
  if (!arrangement.shard_weights.empty())
    for (const NodeIndex before : made.node_at)
      joins.shard_weights.push_back(arrangement.shard_weights[before]);
  joins.carries = [&topology](const std::string& from, const std::string& to) {
    return topology.kind->carries(topology, *topology.find_node(from), *topology.find_node(to));
  };
  return joins;
}

// What the rates are taken from, and which are missing.
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

Status write_best(const Suggestion& best, const ArrangedTopology& made, const std::string& from,
                  const std::string& to) {
  std::error_code code;
  if (std::filesystem::exists(to, code))
    return Error{ErrorCode::kUserInput,
                 to + " is there already and is not written over. Name another file."};
  const auto text = join_anew(from, to, joins_of(best, made));
  if (!text) return text.error();
  return write_whole(to, std::string_view(*text));
}

}  // namespace

int suggest_joins(const Mesh& mesh, const PlanOptions& options, const SimulatedCosts& costs) {
  const TopologyFile& topology = mesh.topology();
  PairRates rates = PairRates::declared(topology);
  for (const std::string& run : options.measured)
    if (const Status taken = take_measured(run, topology, rates); !taken)
      return fail(taken.error());
  const Messages messages = messages_of(mesh.config());
  const std::vector<Suggestion> found = suggest(rates, work_of(mesh, messages, costs));
  if (found.empty())
    return fail({ErrorCode::kUserInput,
                 "the rates that are known join the nodes in no way.\n" + rates_text(rates)});

  std::vector<Row> rows;
  for (const Suggestion& suggestion : found) {
    const ArrangedTopology made = arranged(topology, suggestion.arrangement, rates);
    const auto round_s = simulated_round(mesh, messages, made.topology, made.node_at, costs);
    if (!round_s) return fail(round_s.error());
    rows.push_back({suggestion, *round_s});
  }
  const auto best = std::ranges::min_element(rows, {}, &Row::round_s);
  say(fmt::format("a round of {} takes:", messages.words));
  std::vector<NodeIndex> in_order(topology.nodes.size());
  std::iota(in_order.begin(), in_order.end(), NodeIndex{0});
  TopologyFile known = topology;
  take_rates(known, in_order, rates);
  const auto as_it_is = simulated_round(mesh, messages, known, in_order, costs);
  if (as_it_is) say(row_text({std::nullopt, *as_it_is}, topology, false));
  for (const Row& row : rows) say(row_text(row, topology, &row == &*best));
  put(rates_text(rates));
  say(certainty(*best->suggestion, topology));
  const ArrangedTopology made = arranged(topology, best->suggestion->arrangement, rates);
  const Status written =
      write_best(*best->suggestion, made, mesh.files().topology_path, options.suggest);
  if (!written) return fail(written.error());
  say(fmt::format("written: {}", options.suggest));
  return kExitDone;
}

}  // namespace kimesh::cli
