#include "round_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "kimesh/topology/topology_kind.h"

namespace kimesh {
namespace {

// The most rounds that are laid out. Where they do not repeat themselves, the result is the mean of
// the later half.
constexpr unsigned kRounds = 64;
constexpr unsigned kPeriodMax = 6;  // the longest period, in rounds, that is looked for
constexpr double kSame = 1e-9;      // seconds

struct ShardWays {
  NodeIndex owner = 0;
  double share = 0;  // of the parameters
  Trees trees;
};

struct Message {
  std::uint32_t shard;
  unsigned round;
  bool is_gather;
  NodeIndex from, to;
};

struct Happening {
  double at;
  std::uint64_t number;  // orders happenings of the same time: the one planned first comes first
  enum class Kind { kGradient, kFree, kArrival } kind;
  NodeIndex node;
  std::size_t link;
  Message message;
  bool operator>(const Happening& other) const {
    return std::pair(at, number) > std::pair(other.at, other.number);
  }
};

// Where the messages of one shard go, by node.
struct Routes {
  std::vector<std::vector<NodeIndex>> gather_children;
  std::vector<unsigned> reduce_children;  // their number
  std::vector<unsigned> remaining;        // hops of the longest way that starts with the node's sum
};

unsigned height_of(const Routes& routes, NodeIndex node) {
  unsigned height = 0;
  for (const NodeIndex child : routes.gather_children[node])
    height = std::max(height, 1 + height_of(routes, child));
  return height;
}

Routes routes_of(const ShardWays& shard, std::size_t nodes) {
  Routes routes;
  routes.gather_children.resize(nodes);
  routes.reduce_children.resize(nodes);
  routes.remaining.resize(nodes);
  for (NodeIndex node = 0; node < nodes; ++node) {
    if (node == shard.owner) continue;
    ++routes.reduce_children[shard.trees.reduce_parent[node]];
    routes.gather_children[shard.trees.gather_parent[node]].push_back(node);
  }
  const unsigned gather = height_of(routes, shard.owner);
  for (NodeIndex node = 0; node < nodes; ++node) {
    unsigned up = 0;
    for (NodeIndex at = node; at != shard.owner; at = shard.trees.reduce_parent[at]) ++up;
    routes.remaining[node] = up + gather;
  }
  return routes;
}

class Schedule {
 public:
  Schedule(const RoundModel& model, const std::vector<ShardWays>& shards)
      : model_(model), shards_(shards), nodes_(model.nodes()), links_(nodes_ * nodes_) {
    for (const ShardWays& shard : shards) routes_.push_back(routes_of(shard, nodes_));
    for (NodeIndex node = 0; node < nodes_; ++node) {
      std::vector<std::uint32_t>& order = reduce_order_.emplace_back(shards.size());
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::stable_sort(order, std::greater<>{},
                               [&](std::uint32_t shard) { return routes_[shard].remaining[node]; });
    }
    states_.resize(nodes_);
    for (State& state : states_) state.received.resize(2 * shards.size());
    ends_.assign(kRounds, std::vector<double>(nodes_, 0));
    ended_.assign(kRounds, 0);
    for (NodeIndex node = 0; node < nodes_; ++node) begin_round(node);
  }

  double run() {
    while (!happenings_.empty() && !period_s_) {
      const Happening next = happenings_.top();
      happenings_.pop();
      now_ = next.at;
      if (next.kind == Happening::Kind::kGradient) end_gradient(next.node);
      if (next.kind == Happening::Kind::kFree) send_next(next.link);
      if (next.kind == Happening::Kind::kArrival) arrive(next.message);
    }
    if (period_s_) return *period_s_;
    constexpr unsigned kHalf = kRounds / 2;
    return (std::ranges::max(ends_[kRounds - 1]) - std::ranges::max(ends_[kHalf - 1])) / kHalf;
  }

 private:
  struct State {
    unsigned round = 0, current = 0;  // shards of this round that it holds
    bool has_gradient = false;
    // Sums from children, by the round's parity and the shard: a child may be a round ahead.
    std::vector<unsigned> received;
  };
  struct LinkState {
    bool busy = false;
    std::queue<Message> waiting;
  };

  void plan(double at, Happening::Kind kind, NodeIndex node, std::size_t link,
            const Message& message) {
    happenings_.push({at, number_++, kind, node, link, message});
  }
  unsigned& received(NodeIndex node, std::uint32_t shard, unsigned round) {
    return states_[node].received[round % 2 * shards_.size() + shard];
  }

  void begin_round(NodeIndex node) {
    states_[node].current = 0;
    states_[node].has_gradient = false;
    plan(now_ + model_.gradient_s(), Happening::Kind::kGradient, node, 0, {});
  }
  void end_gradient(NodeIndex node) {
    states_[node].has_gradient = true;
    for (const std::uint32_t shard : reduce_order_[node]) try_reduce(node, shard);
  }

  void try_reduce(NodeIndex node, std::uint32_t shard) {
    State& state = states_[node];
    unsigned& sums = received(node, shard, state.round);
    if (!state.has_gradient || sums < routes_[shard].reduce_children[node]) return;
    sums = 0;
    if (shards_[shard].owner == node) return hold(node, shard);
    send({shard, state.round, false, node, shards_[shard].trees.reduce_parent[node]});
  }

  void hold(NodeIndex node, std::uint32_t shard) {
    State& state = states_[node];
    for (const NodeIndex child : routes_[shard].gather_children[node])
      send({shard, state.round, true, node, child});
    if (++state.current < shards_.size()) return;
    ends_[state.round][node] = now_;
    if (++ended_[state.round] == nodes_) look_for_period(state.round);
    if (++state.round < kRounds) begin_round(node);
  }

  // Ends the schedule once every node's last `period` + 1 rounds have ended the same time after the
  // rounds `period` before them.
  void look_for_period(unsigned round) {
    for (unsigned period = 1; period <= kPeriodMax && round > 2 * period; ++period) {
      const double shift = ends_[round][0] - ends_[round - period][0];
      const auto repeats = [&](unsigned last) {
        for (NodeIndex node = 0; node < nodes_; ++node)
          if (std::abs(ends_[last][node] - ends_[last - period][node] - shift) > kSame)
            return false;
        return true;
      };
      bool same = true;
      for (unsigned back = 0; back <= period && same; ++back) same = repeats(round - back);
      if (!same) continue;
      period_s_ = shift / period;
      return;
    }
  }

  void send(const Message& message) {
    const std::size_t link = message.from * nodes_ + message.to;
    links_[link].waiting.push(message);
    if (!links_[link].busy) send_next(link);
  }
  void send_next(std::size_t link) {
    LinkState& state = links_[link];
    state.busy = !state.waiting.empty();
    if (!state.busy) return;
    const Message message = state.waiting.front();
    state.waiting.pop();
    const double sent =
        now_ + model_.wire_s(message.from, message.to, shards_[message.shard].share);
    plan(sent, Happening::Kind::kFree, 0, link, {});
    plan(sent + model_.latency_s(message.from, message.to) +
             model_.handling_s(shards_[message.shard].share),
         Happening::Kind::kArrival, 0, 0, message);
  }
  void arrive(const Message& message) {
    if (message.is_gather) return hold(message.to, message.shard);
    ++received(message.to, message.shard, message.round);
    if (states_[message.to].round == message.round) try_reduce(message.to, message.shard);
  }

  const RoundModel& model_;
  const std::vector<ShardWays>& shards_;
  const std::size_t nodes_;
  std::vector<Routes> routes_;
  std::vector<std::vector<std::uint32_t>> reduce_order_;  // by node: of shards
  std::vector<State> states_;
  std::vector<LinkState> links_;
  std::vector<std::vector<double>> ends_;  // by round and node
  std::vector<std::size_t> ended_;         // nodes, by round
  std::optional<double> period_s_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::uint64_t number_ = 0;
  double now_ = 0;
};

Trees ring_trees(const std::vector<NodeIndex>& order, NodeIndex owner) {
  const std::size_t nodes = order.size();
  Trees trees;
  trees.reduce_parent.resize(nodes);
  trees.gather_parent.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const NodeIndex node = order[i], next = order[(i + 1) % nodes];
    trees.reduce_parent[node] = next;
    trees.gather_parent[next] = node;
  }
  trees.reduce_parent[owner] = trees.gather_parent[owner] = owner;
  return trees;
}

// Each message goes along the only way between its node and the owner.
Trees tree_trees(const std::vector<NodeIndex>& parents, NodeIndex owner) {
  std::vector<NodeIndex> next = parents;
  for (NodeIndex at = owner, below = owner;; below = std::exchange(at, parents[at])) {
    next[at] = below;
    if (parents[at] == at) break;
  }
  next[owner] = owner;
  return {next, next};
}

Trees star_trees(std::size_t nodes, NodeIndex owner) {
  const std::vector<NodeIndex> to_owner(nodes, owner);
  return {to_owner, to_owner};
}

// The ways of the arrangement's shards, as the topology's kind lays them.
std::vector<ShardWays> ways_of(const Arrangement& arrangement, std::size_t nodes) {
  std::vector<ShardWays> ways;
  double sum = 0;
  for (const NodeIndex owner : arrangement.servers) {
    const double weight = arrangement.shard_weights.empty() ? 1 : arrangement.shard_weights[owner];
    sum += weight;
    ways.push_back(
        {owner, weight,
         arrangement.kind == ArrangementKind::kRing   ? ring_trees(arrangement.order, owner)
         : arrangement.kind == ArrangementKind::kTree ? tree_trees(arrangement.parents, owner)
                                                      : star_trees(nodes, owner)});
  }
  for (ShardWays& way : ways) way.share /= sum;
  return ways;
}

}  // namespace

RoundModel::RoundModel(const PairRates& rates, const RoundWork& work)
    : nodes_(rates.nodes()), work_(work) {
  constexpr double kBitsPerByte = 8;
  for (NodeIndex from = 0; from < nodes_; ++from)
    for (NodeIndex to = 0; to < nodes_; ++to) {
      const PairRate& pair = rates.at(from, to);
      const bool joins = from != to && pair.bits_per_s;
      whole_s_.push_back(joins ? kBitsPerByte * work.bytes / *pair.bits_per_s : kNever);
      latency_s_.push_back(pair.delay_s + work.message_s);
    }
}

bool RoundModel::joins(NodeIndex from, NodeIndex to) const {
  return std::isfinite(whole_s_[from * nodes_ + to]);
}

double RoundModel::round_s(const Arrangement& arrangement) const {
  const std::vector<ShardWays> shards = ways_of(arrangement, nodes_);
  return Schedule(*this, shards).run();
}

}  // namespace kimesh
