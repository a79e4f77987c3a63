// The model with its frozen layers.
#pragma once

#include <vector>

#include "kimesh/train/trainer.h"

namespace kimesh {

struct WholeModel {
  Layout layout;         // every parameter of the model, in torch's order
  ModelOptions options;  // the config's, with what the model's file freezes (models.h: with_frozen)
};
// Makes the network once to look at it.
[[nodiscard]] WholeModel whole_model(const RunConfig& config, const TrainingData& data);

// What the run starts from: `start`, or drawn where it is null. Shape: [whole.size()].
[[nodiscard]] std::vector<float> whole_first_point(const RunConfig& config, const Layout& whole,
                                                   const std::vector<float>* start);

}  // namespace kimesh
