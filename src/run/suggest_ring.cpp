// The search for the best order of a ring.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "suggest_kinds.h"

namespace kimesh {
namespace {

// Lower bounds of a ring's round. Every link carries 2(N − 1) messages of a share 1/N in a round,
// one after another. After a gradient, a shard goes from the node behind its owner round to the
// owner, and on to the node before it, over 2N − 2 links.
class RingBound {
 public:
  explicit RingBound(const RoundModel& model)
      : model_(model), share_(1 / static_cast<double>(model.nodes())) {}

  [[nodiscard]] double busy(double slowest_wire_s) const {
    return 2 * (nodes() - 1) * slowest_wire_s;
  }
  // `sum_s`: the sum of wire time and latency of one message over all links.
  [[nodiscard]] double way(double sum_s) const {
    return model_.gradient_s() + (2 - 2 / nodes()) * (sum_s + nodes() * model_.handling_s(share_));
  }
  [[nodiscard]] double wire(NodeIndex from, NodeIndex to) const {
    return model_.wire_s(from, to, share_);
  }
  [[nodiscard]] double hop(NodeIndex from, NodeIndex to) const {
    return wire(from, to) + model_.latency_s(from, to);
  }
  [[nodiscard]] double of(const std::vector<NodeIndex>& order) const {
    double slowest = 0, sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const NodeIndex from = order[i], to = order[(i + 1) % order.size()];
      slowest = std::max(slowest, wire(from, to));
      sum += hop(from, to);
    }
    return std::max(busy(slowest), way(sum));
  }
  // A lower bound for every order, since each node has one outgoing and one incoming link.
  [[nodiscard]] double of_all() const {
    double slowest = 0, leave = 0, come = 0;
    for (NodeIndex a = 0; a < model_.nodes(); ++a) {
      double out = kNever, in = kNever, out_hop = kNever, in_hop = kNever;
      for (NodeIndex b = 0; b < model_.nodes(); ++b) {
        if (a == b) continue;
        out = std::min(out, wire(a, b));
        in = std::min(in, wire(b, a));
        out_hop = std::min(out_hop, hop(a, b));
        in_hop = std::min(in_hop, hop(b, a));
      }
      slowest = std::max({slowest, out, in});
      leave += out_hop;
      come += in_hop;
    }
    return std::max(busy(slowest), way(std::max(leave, come)));
  }

 private:
  [[nodiscard]] double nodes() const { return static_cast<double>(model_.nodes()); }
  const RoundModel& model_;
  double share_;
};

// Starts at `first` and always goes on to the node that is reached soonest.
std::vector<NodeIndex> nearest_next(const RingBound& bound, std::size_t nodes, NodeIndex first) {
  std::vector<NodeIndex> order{first}, left = all_nodes(nodes);
  std::erase(left, first);
  while (!left.empty()) {
    const auto next = std::ranges::min_element(
        left, {}, [&](NodeIndex node) { return bound.hop(order.back(), node); });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

// Calls `take` with every order that arises when a part of `order` is moved or reversed.
void for_each_neighbour(const std::vector<NodeIndex>& order,
                        const std::function<void(const std::vector<NodeIndex>&)>& take) {
  const auto size = static_cast<std::ptrdiff_t>(order.size());
  for (std::ptrdiff_t begin = 1; begin < size; ++begin)
    for (std::ptrdiff_t end = begin + 1; end <= size; ++end) {
      std::vector<NodeIndex> turned = order;
      std::reverse(turned.begin() + begin, turned.begin() + end);
      if (end - begin > 1) take(turned);
      for (std::ptrdiff_t to = end + 1; to <= size; ++to) {
        std::vector<NodeIndex> moved = order;
        std::rotate(moved.begin() + begin, moved.begin() + end, moved.begin() + to);
        take(moved);
      }
    }
}

// Goes from neighbour to neighbour until the bound falls no further, or no steps are left.
std::vector<NodeIndex> downhill(const RingBound& bound, std::vector<NodeIndex> order,
                                std::size_t& steps_left) {
  double best = bound.of(order);
  for (bool better = true; better && steps_left > 0;) {
    better = false;
    for_each_neighbour(std::vector(order), [&](const std::vector<NodeIndex>& next) {
      steps_left -= std::min(steps_left, next.size());
      const double now = bound.of(next);
      if (now >= best) return;
      best = now;
      order = next;
      better = true;
    });
  }
  return order;
}

// Good orders, from each node on; where there are too many nodes from the most promising ones on.
std::vector<std::pair<double, std::vector<NodeIndex>>> low_orders(const RingBound& bound,
                                                                  std::size_t nodes) {
  std::vector<std::pair<double, std::vector<NodeIndex>>> orders;
  for (const NodeIndex first : all_nodes(nodes)) {
    const std::vector<NodeIndex> order = nearest_next(bound, nodes, first);
    orders.push_back({bound.of(order), order});
  }
  std::ranges::sort(orders);
  std::size_t steps_left = kBoundStepsMax;
  for (auto& [least, order] : orders) {
    order = downhill(bound, order, steps_left);
    least = bound.of(order);
  }
  return orders;
}

}  // namespace

std::optional<Suggestion> best_ring(const RoundModel& model, std::size_t laid_out_max) {
  const RingBound bound(model);
  Search search(model, laid_out_max);
  std::vector<std::pair<double, std::vector<NodeIndex>>> orders;
  std::vector<NodeIndex> order = all_nodes(model.nodes());
  const bool is_small = model.nodes() <= kExactNodesMax;
  if (is_small) {
    do orders.push_back({bound.of(order), order});
    while (std::next_permutation(order.begin() + 1, order.end()));
  } else {
    orders = low_orders(bound, model.nodes());
  }
  std::ranges::sort(orders);
  for (const auto& [least, nodes] : orders) search.consider(least, ring_of(nodes));
  return search.take(is_small ? std::nullopt : std::optional(bound.of_all()));
}

}  // namespace kimesh
