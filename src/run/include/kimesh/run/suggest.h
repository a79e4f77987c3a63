// Which way of joining the nodes gives the shortest round, from the rates between them: the order
// of a ring, the shape of a tree, the servers, and the sizes of their shards.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/topology/topology_file.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// What travels directly from one node to another.
struct PairRate {
  std::optional<double> bits_per_s;  // nothing: not known, and the pair is not used
  double delay_s = 0;
  bool is_default = false;  // `links: default` says it, and nothing says it of this pair
};

class PairRates {
 public:
  explicit PairRates(std::size_t nodes) : nodes_(nodes), pairs_(nodes * nodes) {}
  // As the topology declares them, a trace by its mean, with what the nodes' interfaces allow.
  // Where links share an interface each has all of it here.
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

// What a round has to do.
struct RoundWork {
  double bytes = 0;  // of all parameters in messages
  double gradient_s = 0.01;
  double message_s = 0;   // of each message beside its wire: sockets, queues
  double handling_s = 0;  // of all parameters at each hop: encoding, applying
};

enum class ArrangementKind { kRing, kTree, kServers };

struct Arrangement {
  ArrangementKind kind = ArrangementKind::kRing;
  std::vector<NodeIndex> order;       // of a ring: each sends to the next
  std::vector<NodeIndex> parents;     // of a tree, by node; the root's is itself
  std::vector<NodeIndex> servers;     // ascending; of a ring and a tree: all nodes
  std::vector<double> shard_weights;  // by node; empty: all alike
};
// "ring", "tree", "parameter_server", as a topology file has it.
[[nodiscard]] const char* kind_name(ArrangementKind kind);

struct Suggestion {
  Arrangement arrangement;
  double round_s = 0;     // by the model of rounds
  double bound_s = 0;     // no arrangement of this kind, with shards alike, has a shorter one there
  bool is_exact = false;  // of this kind, with shards alike, nothing is shorter by the model
  std::size_t tried = 0;
};

// The best of each kind that the known pairs allow, first with shards alike, then, where that is
// shorter, with others. Exact for kExactNodesMax nodes at most, unless too many arrangements are
// nearly alike. Seconds of one core. Deterministic.
inline constexpr std::size_t kExactNodesMax = 9;
[[nodiscard]] std::vector<Suggestion> suggest(const PairRates& rates, const RoundWork& work);

// Gives the links on which something travels these rates; `node_at`: the index in `rates` of each
// node.
void take_rates(TopologyFile& topology, const std::vector<NodeIndex>& node_at,
                const PairRates& rates);

// The topology with its nodes arranged so, and with these rates as its links: what a prediction
// takes. Nodes of a ring are in its order: `node_at` gives the index that each had before.
struct ArrangedTopology {
  TopologyFile topology;
  std::vector<NodeIndex> node_at;
};
[[nodiscard]] ArrangedTopology arranged(const TopologyFile& topology,
                                        const Arrangement& arrangement, const PairRates& rates);

}  // namespace kimesh
