#include "suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/records/record_follower.h"
#include "kimesh/run/compare_joins.h"
#include "kimesh/run/options.h"
#include "kimesh/topology/placed_topology.h"
#include "kimesh/util/units.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Replaces emulated rates and delays by what each sender of a run recorded last: a message's fixed
// cost is the way there and back. Errors: UserInput, Io.
Status take_measured(const std::string& run, const TopologyFile& topology, PairRates& rates) {
  bool found = false;
  for (NodeIndex from = 0; from < topology.nodes.size(); ++from) {
    const RunFolder folder(run);
    const std::string& name = topology.nodes[from].name;
    RecordFollower records(folder.events(name), folder.earlier_events(name));
    for (;;) {
      const auto record = records.next();
      if (!record) return record.error();
      if (!*record) break;
      const auto* round = std::get_if<RoundRecord>(&**record);
      if (round == nullptr) continue;
      for (const LinkRecord& link : round->links) {
        const auto to = topology.find_node(link.to);
        if (!to || !link.rate_bits_per_s) continue;
        PairRate& pair = rates.at(from, *to);
        pair.bits_per_s = *link.rate_bits_per_s;
        pair.delay_s = link.fixed_cost_s / 2;
        pair.is_default = false;
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

std::string time_text(double round_s) {
  return fmt::format("{:>10}", format_duration(from_seconds(round_s)));
}

std::string row_text(const ComparedJoins& row, const TopologyFile& topology, bool is_best) {
  return fmt::format("{}  {}{}", time_text(row.round_s),
                     joins_text(row.suggestion.arrangement, topology), is_best ? "  <-" : "");
}

bool shares_interfaces(const TopologyFile& topology) {
  return std::ranges::any_of(topology.nodes, [](const NodeSpec& node) {
    return node.sending_cap_bits_per_s() || node.downlink_bits_per_s;
  });
}

// How much shorter the rounds of another ring or tree with equal shards could be, as far as the
// search tells.
std::string certainty(const Suggestion& found) {
  const char* kind = kind_name(found.arrangement.kind);
  if (found.is_exact) return fmt::format("no other {} has shorter rounds", kind);
  const double gap = 1 - found.bound_s / found.round_s;
  return fmt::format("no other {} can have rounds shorter by more than {:.1f} %", kind, 100 * gap);
}

// `is_cut`: a run sends servers' parts in several messages, which the search does not know.
void say_certainty(const std::vector<ComparedJoins>& rows, const TopologyFile& topology,
                   bool is_cut) {
  const Arrangement& best = rows.front().suggestion.arrangement;
  if (!best.shard_weights.empty()) say("the shards of the best were found by trial");
  if (best.kind == ArrangementKind::kServers) say("the servers of the best were found by trial");
  // Of a ring a node has one link each way, which shares nothing.
  const bool shares = shares_interfaces(topology);
  for (const ComparedJoins& row : rows) {
    const Arrangement& arrangement = row.suggestion.arrangement;
    const bool is_ring = arrangement.kind == ArrangementKind::kRing;
    if (!arrangement.shard_weights.empty() || arrangement.kind == ArrangementKind::kServers)
      continue;
    if (!is_cut && (is_ring || !shares)) say(certainty(row.suggestion));
  }
  if (is_cut)
    say("the search counted each server's part of the model as one message; the simulation sent it "
        "in messages of 1 MiB, as a run does");
  if (shares && best.kind != ArrangementKind::kRing)
    say("links share interfaces: the search gave each link all of them, the simulation shared "
        "them");
}

NewJoins joins_of(const ComparedJoins& row) {
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
  joins.is_encrypted = topology.is_encrypted();
  joins.carries = [&topology](const std::string& from, const std::string& to) {
    return topology.kind->carries(topology, *topology.find_node(from), *topology.find_node(to));
  };
  return joins;
}

// How many rates are those of links.default, and how many are missing.
std::string rates_text(const PairRates& rates) {
  const std::size_t unknown = unknown_pairs(rates);
  std::size_t by_default = 0;
  for (NodeIndex from = 0; from < rates.nodes(); ++from)
    for (NodeIndex to = 0; to < rates.nodes(); ++to)
      by_default +=
          from != to && rates.at(from, to).is_default && rates.at(from, to).bits_per_s ? 1 : 0;
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

Status write_best(const ComparedJoins& best, const std::string& from, const std::string& to) {
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
  const ComparedMessages messages = compared_messages(mesh.config());
  const ComparedMesh compared{topology, mesh.plan().layout, mesh.objective().weights(), rates,
                              costs};
  const auto rows = compare_joins(compared, mesh.config());
  if (!rows) return fail(rows.error());
  if (rows->empty())
    return fail(
        {ErrorCode::kUserInput,
         "the rates that are known join the nodes in no way with which this config goes.\n" +
             rates_text(rates)});

  say(fmt::format("a round of {} takes:", messages.words));
  const auto before = simulated_round(compared, messages.config, as_it_is(compared));
  const ComparedJoins& best = rows->front();
  const bool stays = before.ok() && *before <= best.round_s;
  if (before)
    say(fmt::format("{}  the topology as it is{}", time_text(*before), stays ? "  <-" : ""));
  for (const ComparedJoins& row : *rows) say(row_text(row, topology, !stays && &row == &best));
  put(rates_text(rates));
  const auto most = shard_elements_max(messages.config);
  say_certainty(*rows, topology, most && mesh.plan().layout.size() > *most);
  if (stays) {
    say("nothing is written: no ring, tree or parameter server has shorter rounds than the "
        "topology as it is");
    return kExitDone;
  }
  const Status written = write_best(best, mesh.files().topology_path, options.suggest);
  if (!written) return fail(written.error());
  say(fmt::format("written: {}", options.suggest));
  return kExitDone;
}

}  // namespace kimesh::cli
