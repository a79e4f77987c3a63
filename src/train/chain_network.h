// A network of one module after another.
#pragma once

#include <torch/nn/modules/container/sequential.h>

#include "models.h"

namespace kimesh {

struct ChainNetwork : NeuralNetwork {
  ChainNetwork() { register_module("layers", layers); }
  torch::Tensor forward(const torch::Tensor& inputs) override { return layers->forward(inputs); }
  torch::nn::Sequential layers;
};

}  // namespace kimesh
