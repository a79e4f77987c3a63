// Computes how long a round of a mesh takes, from a schedule of its messages. With it `kimesh plan
// --suggest` compares thousands of arrangements. The simulator, which takes a thousand times as
// long, decides between the best of them. Both agree except for the bytes of headers, and where
// dense messages are shorter than a server's part of the model.
//
// Each directed link sends one message at a time, in the order in which they become ready. A
// gradient makes several messages ready at once: then those with the longest way ahead go first, as
// in the core. A node's gradient begins once it holds all shards of the round before. Neighbouring
// rounds overlap, and the first one alone is up to half too long. So rounds are laid out until they
// repeat themselves.
#pragma once

#include <limits>
#include <vector>

#include "kimesh/run/suggest.h"
#include "kimesh/util/ids.h"

namespace kimesh {

inline constexpr double kNever = std::numeric_limits<double>::infinity();  // seconds

class RoundModel {
 public:
  RoundModel(const PairRates& rates, const RoundWork& work);

  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] double gradient_s() const { return work_.gradient_s; }
  // The time of a message on the wire, for this share of the parameters, and its time besides.
  [[nodiscard]] double wire_s(NodeIndex from, NodeIndex to, double share) const {
    return share * whole_s_[from * nodes_ + to];
  }
  [[nodiscard]] double latency_s(NodeIndex from, NodeIndex to) const {
    return latency_s_[from * nodes_ + to];
  }
  [[nodiscard]] double handling_s(double share) const { return share * work_.handling_s; }
  [[nodiscard]] bool joins(NodeIndex from, NodeIndex to) const;

  // The time of a round in the steady state. Requires that the arrangement uses known pairs only.
  [[nodiscard]] double round_s(const Arrangement& arrangement) const;

 private:
  std::size_t nodes_;
  RoundWork work_;
  // By [from * nodes + to]. whole_s_: the time to send all parameters, infinite for unknown pairs.
  std::vector<double> whole_s_, latency_s_;
};

}  // namespace kimesh
