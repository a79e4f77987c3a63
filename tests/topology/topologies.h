// Topology files and layouts written by hand, for the tests of plans.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "kimesh/config/topology_file.h"
#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"

namespace kimesh::test {

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

// Both kinds at 2 to 16 nodes; the parameter server with all nodes serving, two, the last and the
// first.
inline std::vector<TopologyFile> many_topologies() {
  std::vector<TopologyFile> result;
  for (std::size_t nodes = 2; nodes <= 16; ++nodes) {
    const auto last = static_cast<NodeIndex>(nodes - 1);
    result.push_back(ring(nodes));
    result.push_back(all_serve(nodes));
    result.push_back(star(nodes, {0, last}));
    result.push_back(star(nodes, {0}));
    result.push_back(star(nodes, {last}));
  }
  return result;
}

inline std::string describe(const TopologyFile& topology) {
  return (topology.kind == TopologyKind::kRing ? "ring of " : "parameter server of ") +
         std::to_string(topology.nodes.size()) + " nodes, " +
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
