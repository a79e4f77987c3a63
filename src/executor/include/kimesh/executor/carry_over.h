// A run goes on under another topology: the states of the nodes that there were make the states
// of those that there are. What does not depend on a topology is kept: the parameters, what
// optimizers have learnt, round, schedule and counters. Channels, rates of links and what a policy
// has learnt begin anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kimesh/round/progress.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Thread: one at a time.
class CarryOver {
 public:
  // `before` is the plan that the states are of; outlives this.
  explicit CarryOver(const Plan& before) : before_(before) {}

  // Adds the state of one node, with the options that it had; all states are of one round. A node
  // that is lost is left out: its shards are taken from the copies of the first one that is added,
  // and its owner's optimizer begins anew. Errors: Malformed, Io.
  [[nodiscard]] Status add(NodeIndex node, const VectorsOptions& options, StateReader& state);
  // Whether the moments of owners are lost with one of them.
  [[nodiscard]] bool loses_moments() const;
  [[nodiscard]] Round round() const { return shared_.round; }
  // The state of a node of another plan. Its options: on the host. Requires that a node was added.
  // Errors: Io.
  [[nodiscard]] Result<std::vector<std::byte>> state_for(const Plan& plan, NodeIndex node,
                                                         const VectorsOptions& options);

 private:
  const Plan& before_;
  struct OfNode {
    std::uint64_t traffic = 0, steps = 0;  // as in Progress
  };
  std::map<std::string, OfNode> nodes_;  // by name, those that were added
  Progress shared_;                      // that of shard 0's owner, or the first one's
  CarriedVectors vectors_;
  double weights_ = 0;  // of the nodes that were added
  bool owners_keep_moments_ = false;
};

}  // namespace kimesh
