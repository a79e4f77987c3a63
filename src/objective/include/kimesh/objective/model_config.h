// The section `model` of a config: which network is trained, and from which weights on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kimesh {

enum class ModelKind { kMlp, kCnn, kResnet, kVgg, kLstm, kTransformer };
// What forward and backward pass compute in. Parameters, gradients and the loss stay float32.
enum class ComputeKind { kFloat32, kBfloat16 };

struct ModelConfig {
  ModelKind kind = ModelKind::kMlp;
  std::vector<std::int64_t> hidden{256, 128};  // mlp: widths of the hidden layers
  std::vector<std::int64_t> channels{
      32, 64};               // cnn: 3x3 convolution + GroupNorm + ReLU + 2x2 pool each
  std::int64_t dense = 128;  // cnn: width of the dense layer before the last
  // resnet: 18 or 34 (four stages, He et al. 2015, table 1), or 6n + 2 (three stages, section 4.2);
  // vgg: 11, 13, 16 or 19 (Simonyan and Zisserman 2014, columns A, B, D, E).
  std::int64_t depth = 18;
  std::int64_t width = 64;  // resnet, vgg: channels of the first stage; each next one doubles it
  std::int64_t layers = 2;  // lstm: one on another; transformer: blocks
  std::int64_t hidden_size = 256;  // lstm: `hidden` in the file
  std::int64_t embedding = 128;    // lstm, transformer: numbers a token becomes
  std::int64_t heads = 4;          // transformer: they divide the embedding
  bool tied = false;               // transformer: the head uses the embedding's own weights

  ComputeKind compute = ComputeKind::kFloat32;
  // Prefixes of torch's names, such as "layers.0": these parameters stay as they are.
  std::vector<std::string> frozen;
  std::string weights;             // safetensors that the run starts from, resolved; empty: drawn
  std::vector<std::string> fresh;  // prefixes as in `frozen`: drawn anew, whatever `weights` holds
};

// Whether samples are tokens, else images.
[[nodiscard]] bool reads_tokens(ModelKind kind);

// As RunConfig::canonical, of this section.
[[nodiscard]] std::string canonical(const ModelConfig& model);

}  // namespace kimesh
