#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "kimesh/util/check.h"
#include "src/topology/shape.h"

namespace kimesh {
namespace {

// Femtoseconds that a bit takes. Whole numbers, so that equal ways cost the same in whatever order
// they are added up; a way of kNodesMax links stays below 64 bits.
using Cost = std::uint64_t;
constexpr double kFemtosecondsPerSecond = 1e15;  // 1 bit/s, and whatever is slower

Cost cost_of(double bits_per_s) {
  const double cost = kFemtosecondsPerSecond / bits_per_s;
  return static_cast<Cost>(std::llround(std::clamp(cost, 1.0, kFemtosecondsPerSecond)));
}

// How far a node is from the owner; the first that differs decides.
struct Way {
  Cost cost = std::numeric_limits<Cost>::max();
  unsigned hops = 0;
  auto operator<=>(const Way&) const = default;
};

// Shortest ways by declared rates, a trace counting with its mean; fewer hops where two ways are as
// fast, and then the node whose name comes first. Reduce and gather go by the rates of the
// direction in which they send, so that their trees may differ. Where a rate is missing, all links
// count the same: there is nothing to compare with.
class Graph final : public Shape {
 public:
  explicit Graph(const TopologyFile& topology)
      : topology_(topology), neighbours_(topology.nodes.size()) {
    const auto rated = [&](const TopologyFile::Edge& edge) {
      return topology.link(edge.a, edge.b).rate && topology.link(edge.b, edge.a).rate;
    };
    const bool by_rate = std::ranges::all_of(topology.edges, rated);
    const auto cost = [&](NodeIndex from, NodeIndex to) {
      return by_rate ? cost_of(topology.link(from, to).rate->mean()) : Cost{1};
    };
    for (const auto& [a, b] : topology.edges) {
      neighbours_[a].push_back({b, cost(a, b), cost(b, a)});
      neighbours_[b].push_back({a, cost(b, a), cost(a, b)});
    }
  }

  Trees trees(NodeIndex owner) const override {
    return {shortest(owner, &Neighbour::from_it), shortest(owner, &Neighbour::to_it)};
  }

  std::string picture() const override {
    const auto width = std::ranges::max(topology_.nodes, {}, [](const NodeSpec& node) {
                         return node.name.size();
                       }).name.size();
    std::vector<std::string> rows;
    for (std::size_t n = 0; n < neighbours_.size(); ++n) {
      std::vector<std::string> names;
      for (const Neighbour& next : neighbours_[n]) names.push_back(name(next.node));
      rows.push_back(fmt::format("{:<{}} <--> {}", name(static_cast<NodeIndex>(n)), width,
                                 fmt::join(names, ", ")));
    }
    std::string text;
    for (const std::string& row : picture_rows(std::move(rows))) text += fmt::format("  {}\n", row);
    return text;
  }

 private:
  struct Neighbour {
    NodeIndex node;
    Cost to_it, from_it;
  };

  const std::string& name(NodeIndex node) const { return topology_.nodes[node].name; }

  // Dijkstra from the owner outwards, without a heap: a graph has kNodesMax nodes at most. By node:
  // the next one on its way to the owner.
  std::vector<NodeIndex> shortest(NodeIndex owner, Cost Neighbour::*cost) const {
    const std::size_t nodes = neighbours_.size();
    std::vector<Way> ways(nodes);
    std::vector<NodeIndex> next(nodes, owner);
    std::vector<bool> settled(nodes);
    ways[owner] = {0, 0};
    for (std::size_t count = 0; count < nodes; ++count) {
      std::size_t nearest = nodes;
      for (std::size_t n = 0; n < nodes; ++n)
        if (!settled[n] && (nearest == nodes || ways[n] < ways[nearest])) nearest = n;
      settled[nearest] = true;
      const Way& way = ways[nearest];
      KIMESH_CHECK(way.cost < std::numeric_limits<Cost>::max(), "every node can be reached");
      const auto node = static_cast<NodeIndex>(nearest);
      for (const Neighbour& far : neighbours_[nearest]) {
        const Way longer{way.cost + far.*cost, way.hops + 1};
        const auto as_now = std::tie(ways[far.node], name(next[far.node]));
        if (settled[far.node] || std::tie(longer, name(node)) >= as_now) continue;
        ways[far.node] = longer;
        next[far.node] = node;
      }
    }
    return next;
  }

  const TopologyFile& topology_;
  std::vector<std::vector<Neighbour>> neighbours_;  // by node, in the order of the file
};

}  // namespace

std::unique_ptr<Shape> make_graph(const TopologyFile& topology) {
  return std::make_unique<Graph>(topology);
}

}  // namespace kimesh
