#include "kimesh/config/topology_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/config/limits.h"
#include "src/config/topology_reader.h"

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

}  // namespace

const LinkSpec& TopologyFile::link(NodeIndex from, NodeIndex to) const {
  for (const NamedLink& named : links)
    if (named.from == from && named.to == to) return named.spec;
  return default_link;
}

std::string TopologyFile::canonical() const {
  std::string text = kind == TopologyKind::kRing ? "ring\n" : "parameter_server\n";
  for (const NodeSpec& node : nodes)
    text += fmt::format("node {} up {} down {} weight {}\n", node.name,
                        canonical_rate(node.uplink_bits_per_s),
                        canonical_rate(node.downlink_bits_per_s), canonical_rate(node.data_weight));
  text += fmt::format("servers");
  for (const NodeIndex server : servers) text += fmt::format(" {}", server);
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
    MapReader top(complaints, *root, "",
                  {"kind", "nodes", "servers", "links", "security", "dead_after", "start_timeout"});
    top.require("kind", "kind: ring");
    const bool kind_known = top.choose(
        "kind", topology.kind,
        {{"ring", TopologyKind::kRing}, {"parameter_server", TopologyKind::kParameterServer}});
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
      read_servers(top, topology, complaints);
      const YamlMember* links = top.find("links");
      if (links != nullptr) read_links(links->value, topology, complaints);
    }
  }
  loaded.problems = complaints.take();
  return loaded;
}

}  // namespace kimesh
