// Topology files and layouts written by hand, for the tests of plans.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kimesh/config/topology_file.h"
#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/random.h"

namespace kimesh::test {

inline constexpr std::uint64_t kGraphSeed = 11;

inline std::vector<NodeSpec> some_nodes(std::size_t count) {
  std::vector<NodeSpec> nodes(count);
  for (std::size_t i = 0; i < count; ++i)
    nodes[i].name = i < 26 ? std::string(1, static_cast<char>('a' + i))
                           : std::string("n").append(std::to_string(i));
  return nodes;
}

inline TopologyFile ring(std::size_t nodes) {
  TopologyFile topology;
  topology.kind = TopologyKind::kRing;
  topology.nodes = some_nodes(nodes);
  topology.servers.resize(nodes);
  std::iota(topology.servers.begin(), topology.servers.end(), NodeIndex{0});
  return topology;
}

inline TopologyFile star(std::size_t nodes, std::vector<NodeIndex> servers) {
  TopologyFile topology;
  topology.kind = TopologyKind::kParameterServer;
  topology.nodes = some_nodes(nodes);
  topology.servers = std::move(servers);
  return topology;
}

inline TopologyFile all_serve(std::size_t nodes) {
  return star(nodes, ring(nodes).servers);
}

// parents: by node; a root's is itself.
inline TopologyFile tree(std::vector<NodeIndex> parents) {
  TopologyFile topology = ring(parents.size());
  topology.kind = TopologyKind::kTree;
  topology.parents = std::move(parents);
  return topology;
}

inline TopologyFile fan_out(std::size_t nodes, std::size_t children) {
  std::vector<NodeIndex> parents{0};
  for (std::size_t n = 1; n < nodes; ++n)
    parents.push_back(static_cast<NodeIndex>((n - 1) / children));
  return tree(std::move(parents));
}

// The last node of each site is its head.
inline TopologyFile sites(std::size_t nodes, std::size_t site_nodes) {
  std::vector<NodeIndex> parents;
  for (std::size_t n = 0; n < nodes; ++n)
    parents.push_back(
        static_cast<NodeIndex>(std::min(n / site_nodes * site_nodes + site_nodes, nodes) - 1));
  return tree(std::move(parents));
}

// Connected by a random tree, with each further edge at `share`; every direction has a rate of its
// own, of a few values, so that ties are common. `share` 0: no rates.
inline TopologyFile graph(std::size_t nodes, double share, Random& random) {
  TopologyFile topology = ring(nodes);
  topology.kind = TopologyKind::kGraph;
  for (NodeIndex b = 1; b < nodes; ++b) {
    const auto joined = static_cast<NodeIndex>(random.below(b));
    for (NodeIndex a = 0; a < b; ++a)
      if (a == joined || random.uniform() < share) topology.edges.push_back({a, b});
  }
  std::ranges::sort(topology.edges);
  if (share == 0) return topology;
  for (const auto& [a, b] : topology.edges)
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      topology.links.push_back({from, to, {RateTrace{{{0, 1e6 * (1 + random.below(4))}}}, {}}});
  return topology;
}

// Trees and graphs are taken with one server as well: their routes then need fewer links.
inline TopologyFile served_by(TopologyFile topology, std::vector<NodeIndex> servers) {
  topology.servers = std::move(servers);
  return topology;
}

// Every kind at 2 to 16 nodes, with all nodes serving and with one or two.
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
  return result;
}

inline std::string describe(const TopologyFile& topology) {
  return std::string(name_of(topology.kind)) + " of " + std::to_string(topology.nodes.size()) +
         " nodes, " + std::to_string(topology.servers.size()) + " servers";
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
