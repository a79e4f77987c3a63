#include "src/topology/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

struct ShapeOfKind {
  TopologyKind kind;
  std::unique_ptr<Shape> (*make)(const TopologyFile&);
};
constexpr ShapeOfKind kShapes[] = {{TopologyKind::kRing, make_ring},
                                   {TopologyKind::kParameterServer, make_star},
                                   {TopologyKind::kTree, make_tree},
                                   {TopologyKind::kGraph, make_graph}};

}  // namespace

std::unique_ptr<Shape> make_shape(const TopologyFile& topology) {
  const std::size_t nodes = topology.nodes.size();
  const std::vector<NodeIndex>& servers = topology.servers;
  KIMESH_CHECK(nodes >= 2 && nodes <= kNodesMax, "load_topology lets 2 to kNodesMax nodes pass");
  KIMESH_CHECK(!servers.empty() && servers.back() < nodes, "servers are nodes of the file");
  KIMESH_CHECK(std::ranges::adjacent_find(servers, std::greater_equal<>{}) == servers.end(),
               "servers ascend and none is named twice");
  const auto shape = std::ranges::find(kShapes, topology.kind, &ShapeOfKind::kind);
  KIMESH_CHECK(shape != std::end(kShapes), "every kind has its shape");
  return shape->make(topology);
}

std::vector<std::string> picture_rows(std::vector<std::string> rows) {
  if (rows.size() <= kPictureRowsMax) return rows;
  const std::size_t left_out = rows.size() - (kPictureRowsMax - 1);
  rows.resize(kPictureRowsMax - 1);
  rows.push_back(fmt::format("({} more)", left_out));
  return rows;
}

std::vector<std::string> names_of(const TopologyFile& topology) {
  std::vector<std::string> names;
  for (const NodeSpec& node : topology.nodes) names.push_back(node.name);
  return names;
}

}  // namespace kimesh
