// kind: graph. Any connected set of edges; each stands for both directions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "kimesh/config/map_reader.h"
#include "kimesh/util/check.h"
#include "picture.h"
#include "written.h"

namespace kimesh {
namespace {

struct Edge {
  NodeIndex a, b;  // a < b
  auto operator<=>(const Edge&) const = default;
};

// The cost of a link: femtoseconds that a bit takes. Costs are whole numbers, so that the sum over
// a way does not depend on the order of addition; a way of kNodesMax links stays below 64 bits.
using Cost = std::uint64_t;
constexpr double kFemtosecondsPerSecond = 1e15;  // the cost at 1 bit/s and at lower rates

Cost cost_of(double bits_per_s) {
  const double cost = kFemtosecondsPerSecond / bits_per_s;
  return static_cast<Cost>(std::llround(std::clamp(cost, 1.0, kFemtosecondsPerSecond)));
}

struct Neighbour {
  NodeIndex node;
  Cost to_it, from_it;
};
using Neighbours = std::vector<std::vector<Neighbour>>;  // by node, in the order of the file

// The neighbours of each node. A trace counts with its mean. Where a rate is missing, all links
// cost the same, since nothing can be compared.
Neighbours neighbours_of(const TopologyFile& topology, const std::vector<Edge>& edges) {
  const bool by_rate = std::ranges::all_of(edges, [&](const Edge& edge) {
    return topology.link(edge.a, edge.b).rate && topology.link(edge.b, edge.a).rate;
  });
  const auto cost = [&](NodeIndex from, NodeIndex to) {
    return by_rate ? cost_of(topology.link(from, to).rate->mean()) : Cost{1};
  };
  Neighbours neighbours(topology.nodes.size());
  for (const auto& [a, b] : edges) {
    neighbours[a].push_back({b, cost(a, b), cost(b, a)});
    neighbours[b].push_back({a, cost(b, a), cost(a, b)});
  }
  return neighbours;
}

// The distance of a node from the owner, compared by cost, then by hops.
struct Way {
  Cost cost = std::numeric_limits<Cost>::max();
  unsigned hops = 0;
  auto operator<=>(const Way&) const = default;
};

// The shortest ways to the owner: for each node, the next node on its way. Fewer hops decide where
// two ways cost the same, and then the node whose name comes first. Dijkstra's algorithm from the
// owner outwards, without a heap: a graph has kNodesMax nodes at most.
std::vector<NodeIndex> shortest_ways(const TopologyFile& topology, const Neighbours& neighbours,
                                     NodeIndex owner, Cost Neighbour::*cost) {
  const auto name = [&](NodeIndex node) -> const std::string& { return topology.nodes[node].name; };
  const std::size_t nodes = neighbours.size();
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
    for (const Neighbour& far : neighbours[nearest]) {
      const Way longer{way.cost + far.*cost, way.hops + 1};
      const auto as_now = std::tie(ways[far.node], name(next[far.node]));
      if (settled[far.node] || std::tie(longer, name(node)) >= as_now) continue;
      ways[far.node] = longer;
      next[far.node] = node;
    }
  }
  return next;
}

// All edges that `text` may name: names may hold dashes, so that "a-b-c" may have several readings.
std::vector<Edge> readings(const TopologyFile& topology, std::string_view text) {
  std::vector<Edge> found;
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 1)) {
    const auto a = topology.find_node(text.substr(0, at));
    const auto b = topology.find_node(text.substr(at + 1));
    if (a && b && *a != *b) found.push_back({std::min(*a, *b), std::max(*a, *b)});
  }
  return found;
}

constexpr ListRule kEdgesRule{1, kNodesMax*(kNodesMax - 1) / 2, "pairs of nodes", "[a-b, b-c]"};

class Graph final : public TopologyKind {
 public:
  void describe(Keys& keys) override {
    keys.require("edges", "edges: [a-b, b-c]");
    keys.texts("edges", names_, kEdgesRule,
               "the pairs of nodes that are joined, both ways; shards take the shortest ways by "
               "the emulated rates, where all links have one");
  }

  bool resolve(const TopologyFile& topology, Findings& findings) override {
    if (names_.empty()) return false;  // there is a complaint about it
    bool good = true;
    for (std::size_t i = 0; i < names_.size(); ++i)
      good = resolve_edge(topology, i, findings) && good;
    if (!good || !is_connected(topology, findings)) return false;
    std::ranges::sort(edges_);
    names_.clear();
    for (const auto& [a, b] : edges_)
      names_.push_back(fmt::format("{}-{}", topology.nodes[a].name, topology.nodes[b].name));
    return true;
  }

  // Every edge counts, also one that no route takes, since its rate is the reason.
  bool carries(const TopologyFile&, NodeIndex from, NodeIndex to) const override {
    return std::ranges::binary_search(edges_, Edge{std::min(from, to), std::max(from, to)});
  }

  std::string remedy_for_unused() const override { return "Name a link along an edge"; }

  // The reduce and the gather each take the rates of the direction in which they send, so that
  // their trees may differ.
  std::vector<Trees> trees(const TopologyFile& topology) const override {
    const Neighbours neighbours = neighbours_of(topology, edges_);
    std::vector<Trees> result;
    for (const NodeIndex owner : topology.servers)
      result.push_back({shortest_ways(topology, neighbours, owner, &Neighbour::from_it),
                        shortest_ways(topology, neighbours, owner, &Neighbour::to_it)});
    return result;
  }

  std::string picture(const TopologyFile& topology) const override {
    const Neighbours neighbours = neighbours_of(topology, edges_);
    const std::vector<std::string> names = names_of(topology);
    const auto width = std::ranges::max(names, {}, &std::string::size).size();
    std::vector<std::string> rows;
    for (std::size_t n = 0; n < names.size(); ++n) {
      std::vector<std::string> far;
      for (const Neighbour& next : neighbours[n]) far.push_back(names[next.node]);
      rows.push_back(fmt::format("{:<{}} <--> {}", names[n], width, fmt::join(far, ", ")));
    }
    return picture_of(std::move(rows));
  }

 private:
  bool resolve_edge(const TopologyFile& topology, std::size_t index, Findings& findings) {
    const std::string& text = names_[index];
    if (text.empty()) return false;  // no text: there is a complaint about it
    const std::string place = fmt::format("edges.{}", index);
    const auto found = readings(topology, text);
    if (found.empty())
      findings.add(place, fmt::format("edges holds {}, which joins no two nodes", quoted(text)),
                   fmt::format("Write NODE-NODE with two of: {}", node_names(topology)));
    if (found.size() > 1)
      findings.add(place, fmt::format("{} can be read as more than one edge", quoted(text)),
                   "Name the nodes with _ instead of -");
    if (found.size() != 1) return false;
    const bool again = std::ranges::find(edges_, found[0]) != edges_.end();
    if (again)
      findings.add(place, fmt::format("edge {} was already given", text),
                   "Keep one of them; an edge stands for both directions");
    edges_.push_back(found[0]);
    return !again;
  }

  bool is_connected(const TopologyFile& topology, Findings& findings) const {
    std::vector<bool> reached(topology.nodes.size());
    std::vector<NodeIndex> order{0};
    reached[0] = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const Edge& edge : edges_)
        if (edge.a == order[i] || edge.b == order[i]) {
          const NodeIndex far = edge.a == order[i] ? edge.b : edge.a;
          if (!reached[far]) order.push_back(far);
          reached[far] = true;
        }
    const auto lost = std::ranges::find(reached, false);
    if (lost == reached.end()) return true;
    const std::string& node = topology.nodes[static_cast<std::size_t>(lost - reached.begin())].name;
    findings.add("edges", fmt::format("no edges lead from {} to {}", topology.nodes[0].name, node),
                 fmt::format("Add an edge that joins {} with the others", node));
    return false;
  }

  std::vector<std::string> names_;  // as written; once resolved sorted, the lower node first
  std::vector<Edge> edges_;         // sorted, each once
};

}  // namespace

extern constinit const Kind<TopologyKind> kGraph{
    "graph", "any connected set of edges; shards take the shortest ways",
    make_options<Graph, TopologyKind>};

}  // namespace kimesh
