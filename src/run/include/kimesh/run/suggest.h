// Which way of joining the nodes gives the shortest round, from the rates between them: the order
// of a ring, the shape of a tree, the servers, and the sizes of their shards.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/sim/simulator.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The indices of all nodes, ascending.
[[nodiscard]] std::vector<NodeIndex> all_nodes(std::size_t count);

// The direct way from one node to another.
struct PairRate {
  std::optional<double> bits_per_s;  // nothing: unknown, and the pair is not used
  double delay_s = 0;
  bool is_default = false;  // the rate comes from `links: default`, not from a link of this pair
};

class PairRates {
 public:
  explicit PairRates(std::size_t nodes) : nodes_(nodes), pairs_(nodes * nodes) {}
  // The rates that the topology declares, limited by the nodes' interfaces. A trace counts as its
  // mean. Links that share an interface each get the whole of it.
  [[nodiscard]] static PairRates declared(const TopologyFile& topology);

  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] PairRate& at(NodeIndex from, NodeIndex to) { return pairs_[from * nodes_ + to]; }
  [[nodiscard]] const PairRate& at(NodeIndex from, NodeIndex to) const {
    return pairs_[from * nodes_ + to];
  }

 private:
  std::size_t nodes_;
  std::vector<PairRate> pairs_;
};

// What one round sends and computes.
struct RoundWork {
  double bytes = 0;  // size of messages that hold all parameters
  double gradient_s = 0.01;
  double message_s = 0;   // cost of a message besides its wire time: sockets, queues
  double handling_s = 0;  // cost of encoding and applying all parameters at one hop
};
// `share`: size of a message relative to a dense one. `local_steps`: of the node with the most.
[[nodiscard]] RoundWork round_work(const SimulatedCosts& costs, std::size_t elements,
                                   double share = 1, unsigned local_steps = 1);

enum class ArrangementKind { kRing, kTree, kServers };

struct Arrangement {
  ArrangementKind kind = ArrangementKind::kRing;
  std::vector<NodeIndex> order;       // ring only: each node sends to the next
  std::vector<NodeIndex> parents;     // tree only, by node; the root is its own parent
  std::vector<NodeIndex> servers;     // ascending; all nodes in a ring or a tree
  std::vector<double> shard_weights;  // by node; empty: shards of equal size
};
// Arrangements whose shards have equal sizes. `parents` is by node; the root is its own parent.
[[nodiscard]] Arrangement ring_of(std::vector<NodeIndex> order);
[[nodiscard]] Arrangement tree_of(std::vector<NodeIndex> parents);
[[nodiscard]] Arrangement servers_of(std::vector<NodeIndex> servers);
// A tree's pairs of a node and its parent, by node, without the root. Empty for other kinds.
[[nodiscard]] std::vector<std::pair<NodeIndex, NodeIndex>> parent_pairs(
    const Arrangement& arrangement);
// The name of a kind in a topology file: "ring", "tree", "parameter_server".
[[nodiscard]] const char* kind_name(ArrangementKind kind);

// Times are those of the model of rounds (round_model.h).
struct Suggestion {
  Arrangement arrangement;
  double round_s = 0;
  double bound_s = 0;        // lower bound for this kind with shards of equal size
  bool is_exact = false;     // no arrangement of this kind with shards of equal size is shorter
  std::size_t tried = 0;     // arrangements whose rounds were laid out
  std::size_t messages = 0;  // in one round of each of them
};

// The best arrangement of each kind that the known pairs allow: first with shards of equal size,
// then, where that makes rounds shorter, with shards of different sizes. The search is exact for up
// to kExactNodesMax nodes, unless too many arrangements are nearly equal. Of larger meshes it looks
// at fewer arrangements, those first that promise most; it takes seconds of one core for 24 nodes,
// and up to a minute for 100. It is deterministic.
inline constexpr std::size_t kExactNodesMax = 9;
// Limits the rounds of one kind that are laid out: to as many messages as so many rings of nine
// nodes have, which takes some seconds. Servers, and sizes of shards, are tried with a quarter.
inline constexpr std::size_t kLaidOutMax = 20'000;
[[nodiscard]] std::vector<Suggestion> suggest(const PairRates& rates, const RoundWork& work,
                                              std::size_t laid_out_max = kLaidOutMax);

// Replaces the topology's links by those that carry messages, with these rates. `node_at`: each
// node's index in `rates`.
void take_rates(TopologyFile& topology, const std::vector<NodeIndex>& node_at,
                const PairRates& rates);

// A topology with its nodes arranged, and with given rates as its links, as a prediction needs it.
// The nodes of a ring stand in its order. `node_at`: each node's index before.
struct ArrangedTopology {
  TopologyFile topology;
  std::vector<NodeIndex> node_at;
};
[[nodiscard]] ArrangedTopology arranged(const TopologyFile& topology,
                                        const Arrangement& arrangement, const PairRates& rates);

}  // namespace kimesh
