// The checkpoint with which a replay begins whose logs do not reach back to round 0.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kimesh/mesh/mesh.h"

namespace kimesh {

class ReplayStates {
 public:
  // The oldest checkpoint in a run's folder from which on the logs tell all. Errors: UserInput.
  [[nodiscard]] static Result<std::unique_ptr<ReplayStates>> open(const Mesh& mesh,
                                                                  const RunFolder& folder,
                                                                  Round first_round);
  // Lets the nodes go on from it; they borrow from this.
  void begin(std::vector<SimulatedNode>& nodes);

 private:
  // Only the run that is replayed keeps checkpoints.
  class OfNode final : public StateStore {
   public:
    explicit OfNode(CheckpointPlace place) : place_(std::move(place)) {}
    [[nodiscard]] std::vector<std::byte> memory() override { return {}; }
    void keep(StateId, std::vector<std::byte>) override {}
    [[nodiscard]] Result<std::unique_ptr<StateSource>> load(StateId id) override;

   private:
    CheckpointPlace place_;
  };
  ReplayStates() = default;
  Round round_ = 0;
  std::vector<std::unique_ptr<OfNode>> nodes_;
};

}  // namespace kimesh
