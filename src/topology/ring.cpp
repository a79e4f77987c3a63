// kind: ring. Each node sends to the next in the file, and the last to the first.
#include <fmt/format.h>

#include "picture.h"

namespace kimesh {
namespace {

std::string draw_closed_ring(const std::string& line) {
  const std::string gap(line.size() - 1, ' ');
  const std::string rule(line.size() + 1, '-');
  return fmt::format("  {} --+\n  ^{}   |\n  +{}--+\n", line, gap, rule.substr(1, line.size()));
}

// Draws a ring that does not fit one row, in several rows.
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

// A shard's reduce is a path that starts at the node after the owner, goes round and ends at the
// owner. The gather goes the same way round, so that each link is used in one direction only.
class Ring final : public TopologyKind {
 public:
  bool all_serve() const override { return true; }

  bool carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) const override {
    return (from + 1u) % topology.nodes.size() == to;
  }

  std::string remedy_for_unused() const override {
    return "A ring sends from each node to the next in the file, and from the last to the first: "
           "name one of these links";
  }

  std::vector<Trees> trees(const TopologyFile& topology) const override {
    const std::size_t nodes = topology.nodes.size();
    Trees round;
    for (std::size_t node = 0; node < nodes; ++node) {
      round.reduce_parent.push_back(static_cast<NodeIndex>((node + 1) % nodes));
      round.gather_parent.push_back(static_cast<NodeIndex>((node + nodes - 1) % nodes));
    }
    std::vector<Trees> result;
    for (const NodeIndex owner : topology.servers) {
      Trees& trees = result.emplace_back(round);
      trees.reduce_parent[owner] = trees.gather_parent[owner] = owner;
    }
    return result;
  }

  std::string picture(const TopologyFile& topology) const override {
    const std::vector<std::string> names = names_of(topology);
    const std::string line = fmt::format("{}", fmt::join(names, " --> "));
    return line.size() + 5 > kPictureColumnsMax ? draw_long_ring(names) : draw_closed_ring(line);
  }
};

}  // namespace

extern constinit const Kind<TopologyKind> kRing{
    "ring", "each node sends to the next in the file, the last to the first",
    make_options<Ring, TopologyKind>};

}  // namespace kimesh
