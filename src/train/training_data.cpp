// Who holds which samples, and with which weight. Nothing here needs LibTorch.
#include <numeric>

#include "kimesh/train/trainer.h"

namespace kimesh {
namespace {

std::vector<double> normalised(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> shares(const std::vector<std::vector<std::uint32_t>>& parts) {
  std::vector<double> sizes;
  for (const auto& part : parts) sizes.push_back(static_cast<double>(part.size()));
  return normalised(std::move(sizes));
}

// A cnn halves its images at each stage; what is left must hold a pixel.
Status check_model(const ModelConfig& model, const SampleShape& shape) {
  if (model.kind != ModelKind::kCnn) return ok_status();
  std::size_t halvings = 0;
  for (auto side = std::min(shape.height, shape.width); side > 1; side /= 2) ++halvings;
  if (model.channels.size() <= halvings) return ok_status();
  return Error{ErrorCode::kUserInput,
               "model.channels names " + std::to_string(model.channels.size()) +
                   " stages, but the images can be halved only " + std::to_string(halvings) +
                   " times; write at most " + std::to_string(halvings) + " numbers"};
}

}  // namespace

Result<TrainingData> prepare_training_data(const RunConfig& config, std::size_t nodes,
                                           std::span<const double> declared_weights) {
  KIMESH_CHECK(nodes > 0, "a node to train on");
  KIMESH_CHECK(declared_weights.empty() || declared_weights.size() == nodes, "one weight a node");
  auto sets = load_data(config.data, config.seed);
  if (!sets.ok()) return sets.error();
  if (const Status status = check_model(config.model, sets->train.shape); !status.ok())
    return status.error();
  if (sets->train.samples() < nodes)
    return Error{ErrorCode::kUserInput, std::to_string(nodes) + " nodes cannot share " +
                                            std::to_string(sets->train.samples()) +
                                            " training samples; use fewer nodes"};
  std::vector<double> weights(declared_weights.begin(), declared_weights.end());
  if (weights.empty()) weights.assign(nodes, 1.0);
  TrainingData data{std::move(*sets), {}, {}};
  data.parts = split_data(data.sets.train, config.data, weights, nodes, config.seed);
  data.weights = declared_weights.empty() ? shares(data.parts) : normalised(std::move(weights));
  return data;
}

}  // namespace kimesh
