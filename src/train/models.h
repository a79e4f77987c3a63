// The models that a config can name, as LibTorch modules. Private to the layer: it shows LibTorch.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/config/run_config.h"
#include "kimesh/data/sample_shape.h"
#include "kimesh/topology/layout.h"

namespace kimesh {

// Images in [batch, channels, height, width], scores of the classes out [batch, classes].
struct NeuralNetwork : torch::nn::Module {
  NeuralNetwork(const ModelConfig& config, const SampleShape& shape);
  torch::Tensor forward(const torch::Tensor& images) { return layers->forward(images); }

  torch::nn::Sequential layers;
};

// The network with memory of its own for the parameters, with torch's arbitrary values in it.
[[nodiscard]] std::shared_ptr<NeuralNetwork> make_network(const ModelConfig& config,
                                                          const SampleShape& shape);

// In torch's order of parameters, with torch's names.
[[nodiscard]] Layout layout_of(const torch::nn::Module& network);

// Why `network` cannot be trained here: a node averages parameters, and nobody averages running
// statistics. Nothing means that it can.
[[nodiscard]] std::optional<std::string> complaint_about(const torch::nn::Module& network);

}  // namespace kimesh
