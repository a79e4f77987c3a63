// kind: graph. Any connected set of edges; each stands for both directions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

constexpr std::array<std::string_view, 1> kGraphKeys{"edges"};
constexpr const char* kEdgesExample = "edges: [a-b, b-c]";

// Names may hold dashes, so "a-b-c" may be read in several ways: all of them.
std::vector<TopologyFile::Edge> readings(const TopologyFile& topology, std::string_view text) {
  std::vector<TopologyFile::Edge> found;
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 1)) {
    const auto a = find_node(topology, text.substr(0, at));
    const auto b = find_node(topology, text.substr(at + 1));
    if (a && b && *a != *b) found.push_back({std::min(*a, *b), std::max(*a, *b)});
  }
  return found;
}

bool read_edge(const YamlValue& item, TopologyFile& topology, Complaints& complaints) {
  const auto found = readings(topology, item.text);
  if (found.empty())
    complaints.add(item.line,
                   fmt::format("edges holds {}, which joins no two nodes", kind_name(item)),
                   fmt::format("Write NODE-NODE with two of: {}", node_names(topology)));
  if (found.size() > 1)
    complaints.add(item.line,
                   fmt::format("{} can be read as more than one edge", quoted(item.text)),
                   "Name the nodes with _ instead of -");
  if (found.size() != 1) return false;
  const bool again = std::ranges::find(topology.edges, found[0]) != topology.edges.end();
  if (again)
    complaints.add(item.line, fmt::format("edge {} was already given", item.text),
                   "Keep one of them; an edge stands for both directions");
  topology.edges.push_back(found[0]);
  return !again;
}

bool is_connected(const TopologyFile& topology, int line, Complaints& complaints) {
  std::vector<bool> reached(topology.nodes.size());
  std::vector<NodeIndex> order{0};
  reached[0] = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const TopologyFile::Edge& edge : topology.edges)
      if (edge.a == order[i] || edge.b == order[i]) {
        const NodeIndex far = edge.a == order[i] ? edge.b : edge.a;
        if (!reached[far]) order.push_back(far);
        reached[far] = true;
      }
  const auto lost = std::ranges::find(reached, false);
  if (lost == reached.end()) return true;
  const auto node = static_cast<std::size_t>(lost - reached.begin());
  complaints.add(
      line,
      fmt::format("no edges lead from {} to {}", topology.nodes[0].name, topology.nodes[node].name),
      fmt::format("Add an edge that joins {} with the others", topology.nodes[node].name));
  return false;
}

bool read_graph(MapReader& top, TopologyFile& topology, Complaints& complaints) {
  read_servers(top, topology, complaints);
  top.require("edges", kEdgesExample);
  const YamlMember* member = top.find("edges");
  if (member == nullptr) return false;
  if (member->value.kind != YamlValue::Kind::kList) {
    top.complain(
        "edges", fmt::format("edges is {}, not a list", kind_name(member->value)),
        fmt::format("Write the pairs of nodes that are joined, such as {}", kEdgesExample));
    return false;
  }
  bool good = true;
  for (const YamlValue& item : member->value.items)
    good = read_edge(item, topology, complaints) && good;
  if (!good || !is_connected(topology, member->line, complaints)) return false;
  std::ranges::sort(topology.edges);
  return true;
}

// An edge that no route takes counts: its rate is why no route takes it.
bool graph_carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  const TopologyFile::Edge edge{std::min(from, to), std::max(from, to)};
  return std::ranges::binary_search(topology.edges, edge);
}

}  // namespace

constinit const TopologyKindRules kGraphRules{TopologyKind::kGraph, "graph",
                                              kGraphKeys,           read_graph,
                                              graph_carries,        "Name a link along an edge"};

}  // namespace kimesh
