// LibTorch models as objectives. The only folder that sees <torch/torch.h>; this header does not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kimesh/data/dataset.h"
#include "kimesh/data/split.h"
#include "kimesh/objective/objective.h"
#include "kimesh/run/run_config.h"

namespace kimesh {

// What all nodes of one process share: where the data is and who holds which samples of it.
struct TrainingData {
  // Shared: it never changes, and views on the same data (one node alone) are copies of this.
  std::shared_ptr<const DataSource> source;
  std::vector<std::vector<std::uint32_t>> parts;  // [node]
  std::vector<double> weights;  // ω_i: declared, else the share of the data; sums to 1
  // The whole model's first point, as start_from (weights.h) put it here; null: drawn by the seed.
  std::shared_ptr<const std::vector<float>> start = nullptr;
};

// `declared_weights` holds data_weight of each node, or is empty. Errors: as open_data.
[[nodiscard]] Result<TrainingData> prepare_training_data(const RunConfig& config, std::size_t nodes,
                                                         std::span<const double> declared_weights);

// Layout of the configured model, named as torch names its parameters ("layers.0.weight"). Cheap
// next to training.
[[nodiscard]] Layout model_layout(const RunConfig& config, const TrainingData& data);

// Told while the test set is scored. Thread: that of evaluate().
using EvaluationProgress = std::function<void(std::size_t scored, std::size_t samples)>;

// One node's objective: holds the node's part of the training set and of the test set, which it
// reads now. Errors: as DataSource::read_train. Two objectives of one config at the same parameters
// compute the same gradient bits, whichever process they live in, at equal LibTorch build, thread
// count and CPU capability; on GPUs at equal GPU and versions of CUDA and its libraries.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_trainer(const RunConfig& config,
                                                              const TrainingData& data,
                                                              NodeIndex node,
                                                              EvaluationProgress tell = {});

// Sets the process up for training: LibTorch uses so many threads inside one operation, and only
// operations whose results repeat; memory that is freed stays with the process. Call before the
// first objective.
void set_up_training(int threads);

// Objectives whose config says `device: cuda` compute on the machine's first GPU, with vectors that
// lie there; without this call they compute on the CPU. Call before anything of LibTorch is used,
// set_up_training and make_training_mesh among it: LibTorch asks once whether there is a GPU.
// Errors: UserInput: LibTorch has no part for GPUs here, or sees none.
[[nodiscard]] Status use_gpu_for_training();

// "LibTorch 2.15.0, 2 threads, AVX512", and ", CUDA" after use_gpu_for_training(): what equal bits
// depend on; recorded in the run.
[[nodiscard]] std::string training_environment();

}  // namespace kimesh
