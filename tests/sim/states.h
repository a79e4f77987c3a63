// The states of simulated nodes, for tests that kill a mesh and go on from its checkpoints.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "kimesh/executor/node_state.h"
#include "kimesh/util/check.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test {

// The states of one node, in memory. Keeps all of them.
class States final : public StateStore {
 public:
  [[nodiscard]] std::vector<std::byte> memory() override { return {}; }
  void keep(StateId id, std::vector<std::byte> state) override {
    states[id.round] = std::move(state);
    lineages[id.round] = id.lineage;
  }
  [[nodiscard]] Result<std::unique_ptr<StateSource>> load(StateId id) override {
    const auto found = states.find(id.round);
    if (found == states.end())
      return Error{ErrorCode::kUserInput, "there is no checkpoint of this round"};
    if (id.lineage != 0 && lineages[id.round] != id.lineage)
      return Error{ErrorCode::kUserInput, "the checkpoint of this round is of another run"};
    return std::unique_ptr<StateSource>(new StateInMemory(found->second));
  }
  [[nodiscard]] std::vector<Round> rounds() const {
    std::vector<Round> all;
    for (const auto& [round, state] : states) all.push_back(round);
    return all;
  }
  std::map<Round, std::vector<std::byte>> states;
  std::map<Round, std::uint64_t> lineages;
};
using AllStates = std::vector<std::unique_ptr<States>>;

inline AllStates stores(std::size_t nodes) {
  AllStates all;
  for (std::size_t i = 0; i < nodes; ++i) all.push_back(std::make_unique<States>());
  return all;
}

inline void store_in(Mesh& mesh, const AllStates& states) {
  for (std::size_t i = 0; i < states.size(); ++i) mesh.setup.nodes[i].states = states[i].get();
}

inline void crash_all(Mesh& mesh, double seconds) {
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
    Fault fault{Fault::Kind::kCrash, seconds};
    fault.node = i;
    mesh.setup.faults.push_back(fault);
  }
}

inline void resume(Mesh& mesh, const AllStates& states) {
  store_in(mesh, states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    CheckpointOptions& options = mesh.setup.nodes[i].core.checkpoints;
    options.resumes = true;
    if (states[i]->states.empty()) continue;
    options.newest = states[i]->states.rbegin()->first;
    options.newest_lineage = states[i]->lineages[*options.newest];
  }
}

inline Round newest_of_all(const AllStates& states) {
  Round least = kNoRound;
  for (const auto& of_node : states) {
    KIMESH_CHECK(!of_node->states.empty(), "the run was killed after a checkpoint");
    least = std::min(least, of_node->states.rbegin()->first);
  }
  return least;
}

}  // namespace kimesh::test
