// What tells a ring from a parameter server. A further kind of topology is a further Shape.
#pragma once

#include <memory>
#include <vector>

#include "kimesh/config/topology_file.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The two trees of one shard, by node. Both hang at the owner, which is its own parent.
struct Trees {
  std::vector<NodeIndex> reduce_parent;  // whom the node sends its sum to
  std::vector<NodeIndex> gather_parent;  // whom the node gets the parameters from
};

class Shape {
 public:
  virtual ~Shape() = default;
  // Owner of each shard, by shard; ascending.
  [[nodiscard]] virtual std::vector<NodeIndex> owners() const = 0;
  [[nodiscard]] virtual Trees trees(NodeIndex owner) const = 0;
};

// Requires what load_topology promises: two nodes or more, not over kNodesMax, and known servers.
[[nodiscard]] std::unique_ptr<Shape> make_shape(const TopologyFile& topology);

}  // namespace kimesh
