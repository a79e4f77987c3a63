// Checkpoints that hold an objective's own state behind that of its node.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kimesh/executor/executor.h"
#include "kimesh/objective/objective.h"

namespace kimesh {

// Passes on to the checkpoints of a node, and adds the objective's state: its bytes, then their
// number. Both outlive this. Requires an objective that has a state. Thread: as HeldStates says.
class ObjectiveStates final : public HeldStates {
 public:
  ObjectiveStates(HeldStates& states, Objective& objective)
      : states_(states), objective_(objective) {}

  // The begin of a checkpoint: the objective tells its state here, before its next gradient.
  [[nodiscard]] std::vector<std::byte> memory() override;
  void keep(StateId id, std::vector<std::byte> state) override;
  // Reads the whole state into memory, since the objective's is behind that of the node.
  [[nodiscard]] Result<std::unique_ptr<StateSource>> load(StateId id) override;
  [[nodiscard]] Status set_aside() override { return states_.set_aside(); }
  [[nodiscard]] Result<std::optional<Round>> newest() override { return states_.newest(); }
  void all_hold(Round round) override { states_.all_hold(round); }

 private:
  HeldStates& states_;
  Objective& objective_;
  Result<std::vector<std::byte>> own_ = std::vector<std::byte>();  // of the checkpoint under way
};

}  // namespace kimesh
