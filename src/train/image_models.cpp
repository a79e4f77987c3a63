// Models of images. GroupNorm wherever the papers have BatchNorm: see complaint_about.
#include <torch/nn.h>

#include <algorithm>
#include <numeric>

#include "kimesh/util/check.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kGroups = 8;  // of GroupNorm; fewer where they do not divide the channels
// Images up to this side keep their size in the first convolution of a resnet; larger ones are
// quartered there, as on ImageNet.
constexpr std::int64_t kSmallImage = 64;

nn::GroupNorm norm(std::int64_t channels) {
  return nn::GroupNorm(nn::GroupNormOptions(std::gcd(kGroups, channels), channels));
}

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t side,
                       std::int64_t stride = 1, bool bias = false) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, side).stride(stride).padding(side / 2).bias(bias));
}

// mlp and cnn: one module after another.
struct ChainNetwork : NeuralNetwork {
  ChainNetwork() { register_module("layers", layers); }
  torch::Tensor forward(const torch::Tensor& inputs) override { return layers->forward(inputs); }
  nn::Sequential layers;
};

std::shared_ptr<NeuralNetwork> make_mlp(const ModelConfig& config, const SampleShape& shape) {
  auto network = std::make_shared<ChainNetwork>();
  auto width = static_cast<std::int64_t>(shape.inputs());
  network->layers->push_back(nn::Flatten());
  for (const std::int64_t hidden : config.hidden) {
    network->layers->push_back(nn::Linear(width, hidden));
    network->layers->push_back(nn::ReLU());
    width = hidden;
  }
  network->layers->push_back(nn::Linear(width, shape.classes));
  return network;
}

std::shared_ptr<NeuralNetwork> make_cnn(const ModelConfig& config, const SampleShape& shape) {
  auto network = std::make_shared<ChainNetwork>();
  std::int64_t channels = shape.channels, height = shape.height, width = shape.width;
  for (const std::int64_t out : config.channels) {
    network->layers->push_back(convolution(channels, out, 3, 1, /*bias=*/true));
    network->layers->push_back(norm(out));
    network->layers->push_back(nn::ReLU());
    network->layers->push_back(nn::MaxPool2d(2));
    channels = out;
    height /= 2;
    width /= 2;
  }
  KIMESH_CHECK(height > 0 && width > 0, "check_model refuses images that pool to nothing");
  network->layers->push_back(nn::Flatten());
  network->layers->push_back(nn::Linear(channels * height * width, config.dense));
  network->layers->push_back(nn::ReLU());
  network->layers->push_back(nn::Linear(config.dense, shape.classes));
  return network;
}

// Names as torchvision's, whose "bn" is any norm: its files can be read.
struct ResidualBlock : nn::Module {
  ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn1(register_module("bn1", norm(out))),
        conv2(register_module("conv2", convolution(out, out, 3))),
        bn2(register_module("bn2", norm(out))) {
    if (in == out && stride == 1) return;
    downsample =
        register_module("downsample", nn::Sequential(convolution(in, out, 1, stride), norm(out)));
  }
  torch::Tensor forward(const torch::Tensor& inputs) {
    const auto shortcut = downsample.is_empty() ? inputs : downsample->forward(inputs);
    const auto half = torch::relu(bn1(conv1(inputs)));
    return torch::relu(bn2(conv2(half)) + shortcut);
  }
  nn::Conv2d conv1;
  nn::GroupNorm bn1;
  nn::Conv2d conv2;
  nn::GroupNorm bn2;
  nn::Sequential downsample{nullptr};
};

// Blocks of each stage: table 1 of He et al. 2015 for 18 and 34, else three stages of n each.
std::vector<int> blocks_of(std::int64_t depth) {
  if (depth == 18) return {2, 2, 2, 2};
  if (depth == 34) return {3, 4, 6, 3};
  const auto n = static_cast<int>((depth - 2) / 6);
  return {n, n, n};
}

struct ResidualNetwork : NeuralNetwork {
  ResidualNetwork(const ModelConfig& config, const SampleShape& shape)
      : quarters(std::max(shape.height, shape.width) > kSmallImage),
        conv1(register_module("conv1", convolution(shape.channels, config.width, quarters ? 7 : 3,
                                                   quarters ? 2 : 1))),
        bn1(register_module("bn1", norm(config.width))) {
    std::int64_t in = config.width, out = config.width;
    for (const int blocks : blocks_of(config.depth)) {
      nn::Sequential stage;
      for (int block = 0; block < blocks; ++block) {
        const bool halves = block == 0 && !stages.empty();
        stage->push_back(std::make_shared<ResidualBlock>(in, out, halves ? 2 : 1));
        in = out;
      }
      stages.push_back(register_module("layer" + std::to_string(stages.size() + 1), stage));
      out *= 2;
    }
    fc = register_module("fc", nn::Linear(in, shape.classes));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    auto x = torch::relu(bn1(conv1(inputs)));
    if (quarters) x = torch::max_pool2d(x, 3, 2, 1);
    for (auto& stage : stages) x = stage->forward(x);
    return fc(x.mean({2, 3}));
  }

  bool quarters;
  nn::Conv2d conv1;
  nn::GroupNorm bn1;
  std::vector<nn::Sequential> stages;
  nn::Linear fc{nullptr};
};

// Convolutions of each of the five stages: columns A, B, D and E of Simonyan and Zisserman 2014.
std::vector<int> convolutions_of(std::int64_t depth) {
  if (depth == 11) return {1, 1, 2, 2, 2};
  if (depth == 13) return {2, 2, 2, 2, 2};
  if (depth == 16) return {2, 2, 3, 3, 3};
  return {2, 2, 4, 4, 4};
}

// With one dense layer on the mean over the image, as is usual for small images: the paper's three
// hold nine tenths of its parameters.
struct VggNetwork : NeuralNetwork {
  VggNetwork(const ModelConfig& config, const SampleShape& shape) {
    std::int64_t in = shape.channels, out = config.width;
    std::int64_t side = std::min(shape.height, shape.width);
    for (const int convolutions : convolutions_of(config.depth)) {
      for (int i = 0; i < convolutions; ++i) {
        features->push_back(convolution(in, out, 3, 1, /*bias=*/true));
        features->push_back(norm(out));
        features->push_back(nn::ReLU());
        in = out;
      }
      if (side > 1) features->push_back(nn::MaxPool2d(2));
      side /= 2;
      out = std::min(2 * out, 8 * config.width);
    }
    register_module("features", features);
    classifier = register_module("classifier", nn::Linear(in, shape.classes));
  }
  torch::Tensor forward(const torch::Tensor& inputs) override {
    return classifier(features->forward(inputs).mean({2, 3}));
  }
  nn::Sequential features;
  nn::Linear classifier{nullptr};
};

}  // namespace

std::shared_ptr<NeuralNetwork> make_image_network(const ModelConfig& config,
                                                  const SampleShape& shape) {
  if (config.kind == ModelKind::kMlp) return make_mlp(config, shape);
  if (config.kind == ModelKind::kCnn) return make_cnn(config, shape);
  if (config.kind == ModelKind::kResnet) return std::make_shared<ResidualNetwork>(config, shape);
  return std::make_shared<VggNetwork>(config, shape);
}

}  // namespace kimesh
