// Topology files and layouts written by hand, for the tests of plans.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "tests/shipped.h"

namespace kimesh::test {

inline constexpr std::uint64_t kGraphSeed = 11;

inline std::vector<NodeSpec> some_nodes(std::size_t count) {
  std::vector<NodeSpec> nodes(count);
  for (std::size_t i = 0; i < count; ++i)
    nodes[i].name = i < 26 ? std::string(1, static_cast<char>('a' + i))
                           : std::string("n").append(std::to_string(i));
  return nodes;
}

// All nodes serve unless `servers` says otherwise.
inline TopologyFile topology_of(std::string_view kind, std::size_t nodes,
                                const std::string& keys = "", std::vector<NodeIndex> servers = {}) {
  TopologyFile topology;
  topology.nodes = some_nodes(nodes);
  topology.servers = std::move(servers);
  const std::vector<Problem> problems = set_kind(topology, kind, keys);
  KIMESH_CHECK(problems.empty(), problems.empty() ? "" : to_string(problems[0]));
  return topology;
}

inline TopologyFile ring(std::size_t nodes) {
  return topology_of("ring", nodes);
}

inline TopologyFile star(std::size_t nodes, std::vector<NodeIndex> servers) {
  return topology_of("parameter_server", nodes, "", std::move(servers));
}

inline TopologyFile all_serve(std::size_t nodes) {
  return star(nodes, {});
}

inline TopologyFile fan_out(std::size_t nodes, std::size_t children) {
  return topology_of("tree", nodes, "fan_out: " + std::to_string(children));
}

// The last node of each site is its head.
inline TopologyFile sites(std::size_t nodes, std::size_t site_nodes) {
  const std::vector<NodeSpec> all = some_nodes(nodes);
  std::string keys = "sites:\n";
  for (std::size_t begin = 0; begin < nodes; begin += site_nodes) {
    const std::size_t end = std::min(begin + site_nodes, nodes);
    std::string members = all[begin].name;
    for (std::size_t n = begin + 1; n < end; ++n) members += ", " + all[n].name;
    keys += "  site" + std::to_string(begin) + ": {head: " + all[end - 1].name + ", nodes: [" +
            members + "]}\n";
  }
  return topology_of("tree", nodes, keys);
}

using Edges = std::vector<std::pair<NodeIndex, NodeIndex>>;

inline TopologyFile graph_of(std::size_t nodes, const Edges& edges) {
  const std::vector<NodeSpec> all = some_nodes(nodes);
  std::string keys;
  for (const auto& [a, b] : edges)
    keys += (keys.empty() ? "edges: [" : ", ") + all[a].name + "-" + all[b].name;
  return topology_of("graph", nodes, keys + "]");
}

// Connected by a random tree, with each further edge at `share`; every direction has a rate of its
// own, of a few values, so that ties are common. `share` 0: no rates.
inline TopologyFile graph(std::size_t nodes, double share, Random& random) {
  Edges edges;
  for (NodeIndex b = 1; b < nodes; ++b) {
    const auto joined = static_cast<NodeIndex>(random.below(b));
    for (NodeIndex a = 0; a < b; ++a)
      if (a == joined || random.uniform() < share) edges.emplace_back(a, b);
  }
  std::ranges::sort(edges);
  TopologyFile topology = graph_of(nodes, edges);
  if (share == 0) return topology;
  for (const auto& [a, b] : edges)
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      topology.links.push_back({from, to, {RateTrace{{{0, 1e6 * (1 + random.below(4))}}}, {}}});
  return topology;
}

// Trees and graphs are taken with one server as well: their routes then need fewer links.
inline TopologyFile served_by(TopologyFile topology, std::vector<NodeIndex> servers) {
  topology.servers = std::move(servers);
  return topology;
}

// Kinds at 2 to 16 nodes, with all nodes serving and with one or two; and every file that ships.
inline std::vector<TopologyFile> many_topologies() {
  std::vector<TopologyFile> result;
  for (std::size_t nodes = 2; nodes <= 16; ++nodes) {
    const auto last = static_cast<NodeIndex>(nodes - 1);
    result.push_back(ring(nodes));
    result.push_back(all_serve(nodes));
    result.push_back(star(nodes, {0, last}));
    result.push_back(star(nodes, {0}));
    result.push_back(star(nodes, {last}));
    for (const std::size_t children : {1, 2, 3}) result.push_back(fan_out(nodes, children));
    result.push_back(served_by(fan_out(nodes, 2), {last}));
    result.push_back(sites(nodes, 3));
    result.push_back(served_by(sites(nodes, 3), {0}));
    Random random(kGraphSeed, 0, static_cast<std::uint32_t>(nodes), Purpose::kTest);
    result.push_back(graph(nodes, 0, random));
    result.push_back(graph(nodes, 0.3, random));
    result.push_back(served_by(graph(nodes, 0.5, random), {0, last}));
  }
  for (const std::string& name : shipped_topologies())
    result.push_back(load_topology(shipped_path(name)).value);
  return result;
}

inline std::string describe(const TopologyFile& topology) {
  return topology.kind->kind_name() + " of " + std::to_string(topology.nodes.size()) + " nodes, " +
         std::to_string(topology.servers.size()) + " servers";
}

// Layers of the given shapes, one after another, named "layer0", "layer1" and so on.
inline Layout layout_of(const std::vector<std::vector<std::int64_t>>& shapes) {
  Layout layout;
  for (const std::vector<std::int64_t>& shape : shapes) {
    std::size_t size = 1;
    for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
    const std::string name = std::string("layer").append(std::to_string(layout.layers.size()));
    layout.layers.push_back({name, shape, layout.size(), size});
  }
  return layout;
}

}  // namespace kimesh::test
