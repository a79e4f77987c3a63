// The search for the best shape of a tree, all of whose nodes serve.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "suggest_kinds.h"

namespace kimesh {
namespace {

// All nodes in an order in which each comes after its parent.
std::vector<NodeIndex> from_the_root(const std::vector<NodeIndex>& parents) {
  constexpr NodeIndex kNobody = std::numeric_limits<NodeIndex>::max();
  std::vector<NodeIndex> first(parents.size(), kNobody), next(first), order;
  for (NodeIndex node = 0; node < parents.size(); ++node)
    if (parents[node] == node)
      order.push_back(node);
    else
      next[node] = std::exchange(first[parents[node]], node);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (NodeIndex child = first[order[i]]; child != kNobody; child = next[child])
      order.push_back(child);
  return order;
}

// Lower bounds of a tree's round. All shards pass every link once each way in a round. After a
// gradient, a sum goes from each node to each other one and comes back as parameters.
class TreeBound {
 public:
  explicit TreeBound(const RoundModel& model)
      : model_(model), share_(1 / static_cast<double>(model.nodes())) {}

  [[nodiscard]] double busy(NodeIndex a, NodeIndex b) const {
    return std::max(model_.wire_s(a, b, 1), model_.wire_s(b, a, 1));
  }
  [[nodiscard]] double there_and_back(NodeIndex a, NodeIndex b) const {
    return model_.wire_s(a, b, share_) + model_.latency_s(a, b) + model_.wire_s(b, a, share_) +
           model_.latency_s(b, a) + 2 * model_.handling_s(share_);
  }
  [[nodiscard]] double of(const std::vector<NodeIndex>& parents) const {
    double slowest = 0;
    for (NodeIndex node = 0; node < parents.size(); ++node)
      if (parents[node] != node) slowest = std::max(slowest, busy(node, parents[node]));
    return std::max(slowest, model_.gradient_s() + longest_way(parents));
  }
  // A lower bound for every tree, since each node has a neighbour.
  [[nodiscard]] double of_all() const {
    double slowest = 0, way = 0;
    for (NodeIndex a = 0; a < model_.nodes(); ++a) {
      double least = kNever, least_way = kNever;
      for (NodeIndex b = 0; b < model_.nodes(); ++b) {
        if (a == b) continue;
        least = std::min(least, busy(a, b));
        least_way = std::min(least_way, there_and_back(a, b));
      }
      slowest = std::max(slowest, least);
      way = std::max(way, least_way);
    }
    return std::max(slowest, model_.gradient_s() + way);
  }

 private:
  // The tree's diameter in seconds, from the two longest ways down from each node.
  [[nodiscard]] double longest_way(const std::vector<NodeIndex>& parents) const {
    const std::vector<NodeIndex> order = from_the_root(parents);
    std::vector<double> down(parents.size(), 0);
    double longest = 0;
    for (std::size_t i = order.size(); i-- > 1;) {
      const NodeIndex node = order[i], above = parents[node];
      const double way = down[node] + there_and_back(node, above);
      longest = std::max(longest, down[above] + way);
      down[above] = std::max(down[above], way);
    }
    return longest;
  }

  const RoundModel& model_;
  double share_;
};

// The bound of a tree takes a few times as long for each node as that of a ring.
constexpr std::size_t kStepsOfANode = 4;

// The tree of a Prüfer code, with its last node as root. H. Prüfer, Neuer Beweis eines Satzes über
// Permutationen, 1918.
std::vector<NodeIndex> tree_of_code(const std::vector<NodeIndex>& code) {
  const std::size_t nodes = code.size() + 2;
  std::vector<unsigned> degree(nodes, 1);
  for (const NodeIndex node : code) ++degree[node];
  std::vector<NodeIndex> parents(nodes, static_cast<NodeIndex>(nodes - 1));
  NodeIndex pointer = 0;
  while (degree[pointer] != 1) ++pointer;
  NodeIndex leaf = pointer;
  for (const NodeIndex node : code) {
    parents[leaf] = node;
    if (--degree[node] == 1 && node < pointer) {
      leaf = node;
    } else {
      do ++pointer;
      while (degree[pointer] != 1);
      leaf = pointer;
    }
  }
  return parents;
}

// The code with this number, of nodes^(nodes - 2).
std::vector<NodeIndex> code_of(std::uint32_t number, std::size_t nodes) {
  std::vector<NodeIndex> code(nodes - 2);
  for (NodeIndex& digit : code) {
    digit = static_cast<NodeIndex>(number % nodes);
    number /= static_cast<std::uint32_t>(nodes);
  }
  return code;
}

std::uint32_t codes(std::size_t nodes) {
  std::uint32_t count = 1;
  for (std::size_t digit = 2; digit < nodes; ++digit) count *= static_cast<std::uint32_t>(nodes);
  return count;
}

// Grows a tree from `root`: always adds the node whose link to the tree is busy for the least time.
std::vector<NodeIndex> grown_from(const TreeBound& bound, std::size_t nodes, NodeIndex root) {
  std::vector<NodeIndex> parents(nodes, root), in{root}, out = all_nodes(nodes);
  std::erase(out, root);
  while (!out.empty()) {
    std::pair<NodeIndex, NodeIndex> best{out.front(), in.front()};
    for (const NodeIndex node : out)
      for (const NodeIndex parent : in)
        if (bound.busy(node, parent) < bound.busy(best.first, best.second)) best = {node, parent};
    parents[best.first] = best.second;
    in.push_back(best.first);
    std::erase(out, best.first);
  }
  return parents;
}

bool is_below(const std::vector<NodeIndex>& parents, NodeIndex node, NodeIndex above) {
  for (NodeIndex at = node;; at = parents[at]) {
    if (at == above) return true;
    if (parents[at] == at) return false;
  }
}

// Gives one node after another another parent until the bound falls no further, or no steps are
// left.
std::vector<NodeIndex> downhill(const TreeBound& bound, std::vector<NodeIndex> parents,
                                std::size_t& steps_left) {
  double best = bound.of(parents);
  for (bool better = true; better && steps_left > 0;) {
    better = false;
    for (NodeIndex node = 0; node < parents.size(); ++node)
      for (NodeIndex parent = 0; parent < parents.size(); ++parent) {
        if (parents[node] == node || is_below(parents, parent, node)) continue;
        steps_left -= std::min(steps_left, kStepsOfANode * parents.size());
        const NodeIndex before = std::exchange(parents[node], parent);
        const double now = bound.of(parents);
        if (now < best) {
          best = now;
          better = true;
        } else {
          parents[node] = before;
        }
      }
  }
  return parents;
}

// Good trees, grown from each node on; where there are too many nodes, changed from the most
// promising ones on.
std::vector<std::vector<NodeIndex>> low_trees(const TreeBound& bound, std::size_t nodes) {
  std::vector<std::vector<NodeIndex>> trees;
  std::vector<std::pair<double, NodeIndex>> by_bound;
  for (const NodeIndex root : all_nodes(nodes)) {
    trees.push_back(grown_from(bound, nodes, root));
    by_bound.push_back({bound.of(trees.back()), root});
  }
  std::ranges::sort(by_bound);
  std::size_t steps_left = kBoundStepsMax;
  for (const auto& [least, root] : by_bound) trees[root] = downhill(bound, trees[root], steps_left);
  return trees;
}

}  // namespace

std::optional<Suggestion> best_tree(const RoundModel& model, std::size_t laid_out_max) {
  const TreeBound bound(model);
  const std::size_t nodes = model.nodes();
  Search search(model, laid_out_max);
  for (const std::vector<NodeIndex>& parents : low_trees(bound, nodes))
    search.consider(bound.of(parents), tree_of(parents));
  if (nodes > kExactNodesMax) return search.take(bound.of_all());
  std::vector<std::pair<double, std::uint32_t>> trees;  // by the numbers of their codes
  for (std::uint32_t number = 0; number < codes(nodes); ++number) {
    const double least = bound.of(tree_of_code(code_of(number, nodes)));
    if (search.is_worth(least)) trees.push_back({least, number});
  }
  std::ranges::sort(trees);
  for (const auto& [least, number] : trees)
    search.consider(least, tree_of(tree_of_code(code_of(number, nodes))));
  return search.take();
}

}  // namespace kimesh
