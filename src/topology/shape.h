// What tells one kind of topology from another. A further kind is a further Shape: a file of its
// own and a line in shape.cpp.
#pragma once

#include <memory>
#include <string>
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
  [[nodiscard]] virtual Trees trees(NodeIndex owner) const = 0;
  // For people: who is joined with whom, in lines that begin with two spaces.
  [[nodiscard]] virtual std::string picture() const = 0;
};

// Requires what load_topology promises: two nodes or more, not over kNodesMax, and known servers.
// `topology` outlives the shape.
[[nodiscard]] std::unique_ptr<Shape> make_shape(const TopologyFile& topology);

// The kinds, by the name of their files.
[[nodiscard]] std::unique_ptr<Shape> make_ring(const TopologyFile& topology);
[[nodiscard]] std::unique_ptr<Shape> make_star(const TopologyFile& topology);
[[nodiscard]] std::unique_ptr<Shape> make_tree(const TopologyFile& topology);
[[nodiscard]] std::unique_ptr<Shape> make_graph(const TopologyFile& topology);

// For pictures.
inline constexpr std::size_t kPictureColumnsMax = 90;  // fits a terminal, with room for the margin
inline constexpr std::size_t kPictureRowsMax = 12;     // more rows no longer show the shape
// The first rows, with a last one that counts those left out.
[[nodiscard]] std::vector<std::string> picture_rows(std::vector<std::string> rows);
[[nodiscard]] std::vector<std::string> names_of(const TopologyFile& topology);

}  // namespace kimesh
