// Samples as tensors. Private to the layer: it shows LibTorch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

#include "kimesh/data/dataset.h"

namespace kimesh {

// Shapes: images [n][channels][height][width] float32 with targets [n] int64;
// tokens [n][length] int64 with targets [n][length] int64, the tokens that follow.
struct Batch {
  torch::Tensor inputs, targets;
};
[[nodiscard]] Batch make_batch(const Dataset& data, std::span<const std::uint32_t> samples);

// Scores of tokens [n][length][classes] become [n · length][classes]; those of images stay.
[[nodiscard]] torch::Tensor one_row_a_target(const torch::Tensor& scores);

}  // namespace kimesh
