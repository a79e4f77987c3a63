#include <fmt/format.h>

#include "src/topology/shape.h"

namespace kimesh {
namespace {

std::string draw_closed_ring(const std::string& line) {
  const std::string gap(line.size() - 1, ' ');
  const std::string rule(line.size() + 1, '-');
  return fmt::format("  {} --+\n  ^{}   |\n  +{}--+\n", line, gap, rule.substr(1, line.size()));
}

// A ring that does not fit one row: rows that go on where the arrow points.
std::string draw_long_ring(const std::vector<std::string>& names) {
  std::string text, row;
  for (const std::string& name : names) {
    if (row.size() + name.size() + 5 > kPictureColumnsMax) {
      text += fmt::format("  {}\n", row);
      row.clear();
    }
    row += fmt::format("{}{} -->", row.empty() ? "" : " ", name);
  }
  return fmt::format("{}  {} {} again\n", text, row, names.front());
}

// A path that starts behind the owner, goes round and ends at it. The gather goes the same way
// round, so that a link is used in one direction only.
class Ring final : public Shape {
 public:
  explicit Ring(const TopologyFile& topology) : topology_(topology) {}

  Trees trees(NodeIndex owner) const override {
    const std::size_t nodes = topology_.nodes.size();
    Trees trees;
    for (std::size_t node = 0; node < nodes; ++node) {
      trees.reduce_parent.push_back(static_cast<NodeIndex>((node + 1) % nodes));
      trees.gather_parent.push_back(static_cast<NodeIndex>((node + nodes - 1) % nodes));
    }
    trees.reduce_parent[owner] = trees.gather_parent[owner] = owner;
    return trees;
  }

  std::string picture() const override {
    const std::vector<std::string> names = names_of(topology_);
    const std::string line = fmt::format("{}", fmt::join(names, " --> "));
    return line.size() + 5 > kPictureColumnsMax ? draw_long_ring(names) : draw_closed_ring(line);
  }

 private:
  const TopologyFile& topology_;
};

}  // namespace

std::unique_ptr<Shape> make_ring(const TopologyFile& topology) {
  return std::make_unique<Ring>(topology);
}

}  // namespace kimesh
