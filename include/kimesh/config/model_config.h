// The section `model` of a config: which network is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kimesh {

enum class ModelKind { kMlp, kCnn };

struct ModelConfig {
  ModelKind kind = ModelKind::kMlp;
  std::vector<std::int64_t> hidden{256, 128};  // mlp: widths of the hidden layers
  std::vector<std::int64_t> channels{
      32, 64};               // cnn: 3x3 convolution + GroupNorm + ReLU + 2x2 pool each
  std::int64_t dense = 128;  // cnn: width of the dense layer before the last
};

// As RunConfig::canonical, of this section.
[[nodiscard]] std::string canonical(const ModelConfig& model);

}  // namespace kimesh
