#include "src/train/models.h"

#include <numeric>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kGroups = 8;  // of GroupNorm; fewer where they do not divide the channels

void add_mlp(const ModelConfig& config, const SampleShape& shape, nn::Sequential& layers) {
  auto width = static_cast<std::int64_t>(shape.inputs());
  layers->push_back(nn::Flatten());
  for (const std::int64_t hidden : config.hidden) {
    layers->push_back(nn::Linear(width, hidden));
    layers->push_back(nn::ReLU());
    width = hidden;
  }
  layers->push_back(nn::Linear(width, shape.classes));
}

void add_cnn(const ModelConfig& config, const SampleShape& shape, nn::Sequential& layers) {
  std::int64_t channels = shape.channels, height = shape.height, width = shape.width;
  for (const std::int64_t out : config.channels) {
    layers->push_back(nn::Conv2d(nn::Conv2dOptions(channels, out, 3).padding(1)));
    layers->push_back(nn::GroupNorm(nn::GroupNormOptions(std::gcd(kGroups, out), out)));
    layers->push_back(nn::ReLU());
    layers->push_back(nn::MaxPool2d(2));
    channels = out;
    height /= 2;
    width /= 2;
  }
  KIMESH_CHECK(height > 0 && width > 0,
               "prepare_training_data refuses images that pool to nothing");
  layers->push_back(nn::Flatten());
  layers->push_back(nn::Linear(channels * height * width, config.dense));
  layers->push_back(nn::ReLU());
  layers->push_back(nn::Linear(config.dense, shape.classes));
}

}  // namespace

NeuralNetwork::NeuralNetwork(const ModelConfig& config, const SampleShape& shape) {
  switch (config.kind) {
    case ModelKind::kMlp:
      add_mlp(config, shape, layers);
      break;
    case ModelKind::kCnn:
      add_cnn(config, shape, layers);
      break;
  }
  register_module("layers", layers);
}

std::shared_ptr<NeuralNetwork> make_network(const ModelConfig& config, const SampleShape& shape) {
  auto network = std::make_shared<NeuralNetwork>(config, shape);
  const auto complaint = complaint_about(*network);
  KIMESH_CHECK(!complaint, *complaint);
  return network;
}

Layout layout_of(const nn::Module& network) {
  Layout layout;
  std::size_t offset = 0;
  for (const auto& item : network.named_parameters()) {
    const auto size = static_cast<std::size_t>(item.value().numel());
    layout.layers.push_back({item.key(), item.value().sizes().vec(), offset, size});
    offset += size;
  }
  return layout;
}

std::optional<std::string> complaint_about(const nn::Module& network) {
  const auto buffers = network.named_buffers();
  if (buffers.is_empty()) return std::nullopt;
  return "the model keeps running statistics in '" + buffers.begin()->key() +
         "', which the nodes would not share; use GroupNorm or LayerNorm in place of BatchNorm";
}

}  // namespace kimesh
