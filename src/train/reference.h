// What kimesh must agree with: one process, torch's own tensors and torch's own optimizer. For
// tests and benchmarks; shares with the trainer only the data, the model and the first point.
#pragma once

#include <vector>

#include "kimesh/run/run_config.h"
#include "kimesh/train/trainer.h"

namespace kimesh {

struct ReferenceRun {
  std::vector<float> parameters;  // in the layout's order, after the last round
  std::vector<double> losses;  // [rounds]: Σ ω_i · mean loss of node i's batch, before the step
};

// Trains on the joined batches of all nodes of `data`, minimising Σ ω_i · (mean loss of node i's
// batch), by torch::optim::SGD (momentum, nesterov, coupled decay) or torch::optim::AdamW.
// Requires a learning rate that stays, and no clipping: those have no joined meaning.
[[nodiscard]] ReferenceRun train_joined(const RunConfig& config, const TrainingData& data,
                                        Round rounds);

}  // namespace kimesh
