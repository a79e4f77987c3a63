#include "src/topology/shape.h"

#include <algorithm>
#include <numeric>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// A path that starts behind the owner, goes round and ends at it. The gather goes the same way
// round, so that a link is used in one direction only.
class Ring final : public Shape {
 public:
  explicit Ring(std::size_t nodes) : nodes_(nodes) {}

  std::vector<NodeIndex> owners() const override {
    std::vector<NodeIndex> all(nodes_);
    std::iota(all.begin(), all.end(), NodeIndex{0});
    return all;
  }

  Trees trees(NodeIndex owner) const override {
    Trees trees;
    for (std::size_t node = 0; node < nodes_; ++node) {
      trees.reduce_parent.push_back(static_cast<NodeIndex>((node + 1) % nodes_));
      trees.gather_parent.push_back(static_cast<NodeIndex>((node + nodes_ - 1) % nodes_));
    }
    trees.reduce_parent[owner] = trees.gather_parent[owner] = owner;
    return trees;
  }

 private:
  std::size_t nodes_;
};

// Every node talks to the owner itself.
class Star final : public Shape {
 public:
  Star(std::size_t nodes, std::vector<NodeIndex> servers)
      : nodes_(nodes), servers_(std::move(servers)) {}

  std::vector<NodeIndex> owners() const override { return servers_; }

  Trees trees(NodeIndex owner) const override {
    const std::vector<NodeIndex> all_to_owner(nodes_, owner);
    return {all_to_owner, all_to_owner};
  }

 private:
  std::size_t nodes_;
  std::vector<NodeIndex> servers_;
};

}  // namespace

std::unique_ptr<Shape> make_shape(const TopologyFile& topology) {
  const std::size_t nodes = topology.nodes.size();
  KIMESH_CHECK(nodes >= 2 && nodes <= kNodesMax, "load_topology lets 2 to kNodesMax nodes pass");
  if (topology.kind == TopologyKind::kRing) return std::make_unique<Ring>(nodes);

  const std::vector<NodeIndex>& servers = topology.servers;
  KIMESH_CHECK(!servers.empty() && servers.back() < nodes, "servers are nodes of the file");
  KIMESH_CHECK(std::ranges::adjacent_find(servers, std::greater_equal<>{}) == servers.end(),
               "servers ascend and none is named twice");
  return std::make_unique<Star>(nodes, servers);
}

}  // namespace kimesh
