#include <fmt/format.h>

#include "kimesh/util/check.h"
#include "src/topology/shape.h"

namespace kimesh {
namespace {

// One tree, or one tree a site whose roots (the sites' heads) are all joined with each other. Taken
// as it stands, without directions, it holds one way from each node to each owner; the gather goes
// the same way back.
class Tree final : public Shape {
 public:
  explicit Tree(const TopologyFile& topology) : topology_(topology) {
    KIMESH_CHECK(topology.parents.size() == topology.nodes.size(), "every node has a parent");
    for (std::size_t n = 0; n < topology.nodes.size(); ++n)
      if (parent(static_cast<NodeIndex>(n)) == n) roots_.push_back(static_cast<NodeIndex>(n));
  }

  Trees trees(NodeIndex owner) const override {
    const std::vector<NodeIndex> way = way_up(owner);
    std::vector<NodeIndex> next(topology_.parents);
    for (const NodeIndex root : roots_) next[root] = way.back();
    // Those above the owner turn round, down to it.
    for (std::size_t i = 1; i < way.size(); ++i) next[way[i]] = way[i - 1];
    next[owner] = owner;
    return {next, next};
  }

  std::string picture() const override {
    std::vector<std::string> rows;
    const bool sites = roots_.size() > 1;
    if (sites) rows.push_back("heads of sites, each joined with every other");
    for (const NodeIndex root : roots_)
      if (sites)
        draw_below(root, "", root == roots_.back(), rows);
      else
        draw_root(root, rows);
    std::string text;
    for (const std::string& row : picture_rows(std::move(rows))) text += fmt::format("  {}\n", row);
    return text;
  }

 private:
  NodeIndex parent(NodeIndex node) const { return topology_.parents[node]; }

  // From `node` to its root, both included.
  std::vector<NodeIndex> way_up(NodeIndex node) const {
    std::vector<NodeIndex> way{node};
    while (parent(way.back()) != way.back()) {
      way.push_back(parent(way.back()));
      KIMESH_CHECK(way.size() <= topology_.nodes.size(), "every way up ends at a root");
    }
    return way;
  }

  std::vector<NodeIndex> children(NodeIndex node) const {
    std::vector<NodeIndex> result;
    for (std::size_t n = 0; n < topology_.nodes.size(); ++n)
      if (n != node && parent(static_cast<NodeIndex>(n)) == node)
        result.push_back(static_cast<NodeIndex>(n));
    return result;
  }

  void draw_root(NodeIndex root, std::vector<std::string>& rows) const {
    rows.push_back(topology_.nodes[root].name);
    const std::vector<NodeIndex> below = children(root);
    for (const NodeIndex child : below) draw_below(child, "", child == below.back(), rows);
  }

  // As deep as the tree: a path of kNodesMax at most.
  void draw_below(NodeIndex node, const std::string& margin, bool last,
                  std::vector<std::string>& rows) const {
    rows.push_back(fmt::format("{}+-- {}", margin, topology_.nodes[node].name));
    const std::vector<NodeIndex> below = children(node);
    for (const NodeIndex child : below)
      draw_below(child, margin + (last ? "    " : "|   "), child == below.back(), rows);
  }

  const TopologyFile& topology_;
  std::vector<NodeIndex> roots_;
};

}  // namespace

std::unique_ptr<Shape> make_tree(const TopologyFile& topology) {
  return std::make_unique<Tree>(topology);
}

}  // namespace kimesh
