#include "kimesh/config/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "src/config/limits.h"
#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

std::string canonical_rate(const std::optional<double>& rate) {
  return rate ? fmt::format("{}", *rate) : "-";
}

std::string canonical_link(const LinkSpec& spec) {
  std::string text = fmt::format("delay {} rate", spec.delay.count());
  if (!spec.rate) return text + " -";
  for (const RateTrace::Step& step : spec.rate->steps)
    text += fmt::format(" {}:{}", step.seconds, step.bits_per_s);
  return text;
}

void read_times(MapReader& top, TopologyFile& topology) {
  top.read("dead_after", topology.dead_after,
           Range{limits::kDeadAfterSecondsMin, limits::kDeadAfterSecondsMax});
  top.read("start_timeout", topology.start_timeout,
           Range{limits::kStartTimeoutSecondsMin, limits::kStartTimeoutSecondsMax});
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{"kind", "nodes", "servers"};
  for (const TopologyKindRules* rules : topology_kinds())
    keys.insert(keys.end(), rules->keys.begin(), rules->keys.end());
  keys.insert(keys.end(), {"links", "security", "dead_after", "start_timeout"});
  return keys;
}

bool choose_kind(MapReader& top, TopologyKind& kind) {
  std::vector<std::pair<std::string_view, TopologyKind>> choices;
  for (const TopologyKindRules* rules : topology_kinds())
    choices.emplace_back(rules->name, rules->kind);
  top.require("kind", "kind: ring");
  if (!top.choose("kind", kind, choices)) return false;
  for (const TopologyKindRules* rules : topology_kinds())
    for (const std::string_view key : rules->keys)
      if (rules->kind != kind) top.refuse({key}, fmt::format("kind: {}", name_of(kind)));
  return true;
}

std::string canonical_node(const NodeSpec& node) {
  return fmt::format("node {} up {} down {} weight {} max {} traffic {} shard {}\n", node.name,
                     canonical_rate(node.uplink_bits_per_s),
                     canonical_rate(node.downlink_bits_per_s), canonical_rate(node.data_weight),
                     canonical_rate(node.max_rate_bits_per_s),
                     node.traffic_bytes ? fmt::format("{}", *node.traffic_bytes) : "-",
                     canonical_rate(node.shard_weight));
}

}  // namespace

std::optional<double> NodeSpec::sending_cap_bits_per_s() const {
  if (!max_rate_bits_per_s) return uplink_bits_per_s;
  return std::min(*max_rate_bits_per_s, uplink_bits_per_s.value_or(*max_rate_bits_per_s));
}

const LinkSpec& TopologyFile::link(NodeIndex from, NodeIndex to) const {
  for (const NamedLink& named : links)
    if (named.from == from && named.to == to) return named.spec;
  return default_link;
}

bool TopologyFile::is_one_hop() const {
  return kind == TopologyKind::kParameterServer;
}

std::string TopologyFile::canonical() const {
  std::string text = fmt::format("{}\n", name_of(kind));
  for (const NodeSpec& node : nodes) text += canonical_node(node);
  text += fmt::format("servers");
  for (const NodeIndex server : servers) text += fmt::format(" {}", server);
  for (const NodeIndex parent : parents) text += fmt::format(" on {}", parent);
  for (const Edge& edge : edges) text += fmt::format(" {}-{}", edge.a, edge.b);
  const std::string usual = canonical_link(default_link);
  text += fmt::format("\nlink default {}\n", usual);
  std::vector<std::string> named;
  for (const NamedLink& link : links)
    if (const std::string spec = canonical_link(link.spec); spec != usual)
      named.push_back(fmt::format("link {}->{} {}\n", link.from, link.to, spec));
  std::sort(named.begin(), named.end());
  for (const std::string& line : named) text += line;
  return text + fmt::format("security {}\ndead_after {}\nstart_timeout {}\n",
                            security == Security::kNone ? "none" : "unspecified",
                            dead_after.count(), start_timeout.count());
}

Loaded<TopologyFile> load_topology(const std::string& path) {
  Loaded<TopologyFile> loaded;
  TopologyFile& topology = loaded.value;
  Complaints complaints(path);
  if (const auto root = read_yaml(path, complaints)) {
    MapReader top(complaints, *root, "", known_keys());
    const bool kind_known = choose_kind(top, topology.kind);
    top.choose("security", topology.security, {{"none", Security::kNone}});
    read_times(top, topology);
    top.require("nodes", "nodes: with one line per node");
    const YamlMember* nodes = top.find("nodes");
    if (nodes != nullptr) read_nodes(nodes->value, topology, complaints);
    check_security(topology, complaints);
    // Links and servers name nodes by their place: without a kind and good nodes, what would be
    // said about them would mislead.
    if (kind_known && nodes != nullptr && topology.nodes.size() >= limits::kNodesMin &&
        topology.nodes.size() == nodes->value.members.size()) {
      topology.servers.resize(topology.nodes.size());
      std::iota(topology.servers.begin(), topology.servers.end(), NodeIndex{0});
      const bool joined = rules_of(topology.kind).read(top, topology, complaints);
      check_shard_weights(topology, complaints);
      const YamlMember* links = top.find("links");
      if (joined && links != nullptr) read_links(links->value, topology, complaints);
    }
  }
  loaded.problems = complaints.take();
  return loaded;
}

}  // namespace kimesh
