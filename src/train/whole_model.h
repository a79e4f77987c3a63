// The model with its frozen layers.
#pragma once

#include <vector>

#include "kimesh/train/trainer.h"

namespace kimesh {

// Every parameter of the model, in torch's order.
[[nodiscard]] Layout whole_layout(const RunConfig& config, const TrainingData& data);

// The config's model, with what its file freezes in `frozen` (models.h: with_frozen).
[[nodiscard]] ModelOptions model_with_frozen(const RunConfig& config, const TrainingData& data);

// What the run starts from: `start`, or drawn where it is null. Shape: [whole.size()].
[[nodiscard]] std::vector<float> whole_first_point(const RunConfig& config, const Layout& whole,
                                                   const std::vector<float>* start);

}  // namespace kimesh
