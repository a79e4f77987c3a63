// How long a round of a mesh takes, by a schedule of its messages: what `kimesh plan --suggest`
// compares thousands of arrangements with. The simulator, which takes a thousand times as long, has
// the last word on the best of them; both agree but for the bytes of headers.
//
// Each directed link sends one message at a time, in the order in which they become ready; a
// gradient makes several ready, and then those with the longest way before them go first, as in the
// core. A node's gradient begins once it holds all shards of the round before. Rounds are laid out
// until they repeat themselves, since neighbouring ones overlap: the first one alone is up to half
// too long.
#pragma once

#include <vector>

#include "kimesh/run/suggest.h"
#include "kimesh/topology/topology_kind.h"
#include "kimesh/util/ids.h"

namespace kimesh {

struct ShardWays {
  NodeIndex owner = 0;
  double share = 0;  // of the parameters
  Trees trees;
};

class RoundModel {
 public:
  // `whole_s`: of sending all parameters from one node to another, by [from * nodes + to]; infinite
  // where that cannot be.
  RoundModel(const PairRates& rates, const RoundWork& work);

  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] double gradient_s() const { return work_.gradient_s; }
  // Time of a message with this share of the parameters, and of one with none.
  [[nodiscard]] double wire_s(NodeIndex from, NodeIndex to, double share) const {
    return share * whole_s_[from * nodes_ + to];
  }
  [[nodiscard]] double latency_s(NodeIndex from, NodeIndex to) const {
    return latency_s_[from * nodes_ + to];
  }
  [[nodiscard]] double handling_s(double share) const { return share * work_.handling_s; }
  [[nodiscard]] bool joins(NodeIndex from, NodeIndex to) const;

  // Of a round in the steady state. Requires that all links of the ways can be.
  [[nodiscard]] double round_s(const std::vector<ShardWays>& shards) const;
  [[nodiscard]] double round_s(const Arrangement& arrangement) const;

 private:
  std::size_t nodes_;
  RoundWork work_;
  std::vector<double> whole_s_, latency_s_;
};

// The ways of its shards, as the topology's kind lays them.
[[nodiscard]] std::vector<ShardWays> ways_of(const Arrangement& arrangement, std::size_t nodes);

}  // namespace kimesh
