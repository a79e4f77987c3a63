#include "kimesh/executor/carry_over.h"

#include <algorithm>

#include "kimesh/executor/node_state.h"
#include "kimesh/util/check.h"

namespace kimesh {

Status CarryOver::add(NodeIndex node, const VectorsOptions& options, StateReader& state) {
  Vectors vectors(before_, node, options);
  const auto core = read_state(state, vectors);
  if (!core) return core.error();
  const auto progress = progress_in(*core);
  if (!progress) return progress.error();
  KIMESH_CHECK(nodes_.empty() || progress->round == shared_.round, "states of one round");
  if (nodes_.empty() || before_.shards.front().owner == node) shared_ = *progress;
  nodes_[before_.view.nodes[node]] = {progress->traffic, progress->steps};
  // A sound state has a positive weight; one that has none counts for nothing.
  const double weight = std::max(progress->data_weight, 0.0);
  weights_ += weight;
  vectors.carry(weights_ > 0 ? weight / weights_ : 1, vectors_);
  const bool sends_movements = options.keeps_estimates && options.feedback == Feedback::kEf14;
  owners_keep_moments_ = options.optimizer.kind->state_vectors() > 0 && !sends_movements;
  return ok_status();
}

bool CarryOver::loses_moments() const {
  const auto is_lost = [&](const Shard& shard) {
    return !nodes_.contains(before_.view.nodes[shard.owner]);
  };
  return owners_keep_moments_ && std::ranges::any_of(before_.shards, is_lost);
}

Result<std::vector<std::byte>> CarryOver::state_for(const Plan& plan, NodeIndex node,
                                                    const VectorsOptions& options) {
  KIMESH_CHECK(!nodes_.empty(), "a state to go on from");
  if (loses_moments()) vectors_.moments.clear();
  Vectors vectors(plan, node, options);
  vectors.start(vectors_);
  Progress progress = shared_;
  // Each node goes on with its own batches; a new node begins behind those of all others.
  const auto known = nodes_.find(plan.view.nodes[node]);
  const auto steps = [](const auto& entry) { return entry.second.steps; };
  const OfNode own = known != nodes_.end()
                         ? known->second
                         : OfNode{0, steps(*std::ranges::max_element(nodes_, {}, steps))};
  progress.traffic = own.traffic;
  progress.steps = own.steps;
  std::vector<std::byte> state;
  if (const Status written = write_state(core_state_of(progress), vectors, state); !written)
    return written.error();
  return state;
}

}  // namespace kimesh
