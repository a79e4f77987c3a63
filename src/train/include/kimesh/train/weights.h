// What a run starts from, and what of the model stays as it is. Which files they come from or go
// to is somebody else's business.
#pragma once

#include <string>
#include <vector>

#include "kimesh/train/trainer.h"

namespace kimesh {

// Lets the run start from `tensors`, which have torch's names: every layer of the model must be
// there in its shape, except those under model.fresh, which are drawn as without a file. Gives the
// names of tensors that the model has no use for. Errors: UserInput, naming a layer that is missing
// or has another shape.
[[nodiscard]] Result<std::vector<std::string>> start_from(const RunConfig& config,
                                                          const NamedValues& tensors,
                                                          TrainingData& data);

// The values that a fresh network of the config's kind comes with (ModelKind::has_values).
[[nodiscard]] NamedValues own_values(const RunConfig& config, const TrainingData& data);

// The frozen part of the model: not in model_layout, the same on every node and in every round.
[[nodiscard]] NamedValues frozen_tensors(const RunConfig& config, const TrainingData& data);

}  // namespace kimesh
