// Models as LibTorch modules. Each kind is a file of this folder. Private to the layer: it shows
// LibTorch.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string>

#include "kimesh/data/sample_shape.h"
#include "kimesh/objective/model_options.h"
#include "kimesh/topology/layout.h"

namespace kimesh {

// Samples in, as Batch holds them, scores of the classes out: [batch, classes] of images,
// [batch, length, classes] of tokens. No dropout and nothing else drawn by chance.
struct NeuralNetwork : torch::nn::Module {
  virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;
};

// The network with memory of its own for the parameters, with torch's arbitrary values in it.
// Requires what check_model asks for.
[[nodiscard]] std::shared_ptr<NeuralNetwork> make_network(const ModelKind& kind,
                                                          const SampleShape& shape);

// All parameters, frozen ones too, in torch's order, with torch's names.
[[nodiscard]] Layout layout_of(const torch::nn::Module& network);

// `model` with the names of those parameters in `frozen`, too, that `network` came with as frozen
// (torch: requires_grad is false), but for `fresh` ones: what is drawn anew learns.
[[nodiscard]] ModelOptions with_frozen(ModelOptions model, const torch::nn::Module& network);

// Scores in float32, of a forward pass that computes in `compute`.
[[nodiscard]] torch::Tensor scores_of(NeuralNetwork& network, const torch::Tensor& inputs,
                                      ComputeKind compute);

// Why `network` cannot be trained here: a node averages parameters, and nobody averages running
// statistics, which torch's names of buffers tell. Nothing means that it can.
[[nodiscard]] std::optional<std::string> complaint_about(const torch::nn::Module& network);

}  // namespace kimesh
