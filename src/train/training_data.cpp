// Who holds which samples, and with which weight. Nothing here needs LibTorch.
#include <numeric>

#include "check_model.h"
#include "kimesh/util/check.h"
#include "node_data.h"

namespace kimesh {
namespace {

std::vector<double> normalised(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

std::vector<double> shares(const std::vector<std::vector<std::uint32_t>>& parts) {
  std::vector<double> sizes;
  for (const auto& part : parts) sizes.push_back(static_cast<double>(part.size()));
  return normalised(std::move(sizes));
}

}  // namespace

Result<TrainingData> prepare_training_data(const RunConfig& config, std::size_t nodes,
                                           std::span<const double> declared_weights) {
  KIMESH_CHECK(nodes > 0, "a node to train on");
  KIMESH_CHECK(declared_weights.empty() || declared_weights.size() == nodes, "one weight a node");
  auto source = open_data(*config.data.kind, config.seed);
  if (!source.ok()) return source.error();
  const SampleClasses& train = (*source)->train();
  if (const Status status = check_model(config.model, (*source)->shape()); !status.ok())
    return status.error();
  if (train.samples() < nodes)
    return Error{ErrorCode::kUserInput, std::to_string(nodes) + " nodes cannot share " +
                                            std::to_string(train.samples()) +
                                            " training samples; use fewer nodes"};
  std::vector<double> weights(declared_weights.begin(), declared_weights.end());
  if (weights.empty()) weights.assign(nodes, 1.0);
  TrainingData data{std::move(*source), {}, {}};
  data.parts = split_data(*config.data.split, {train, weights, nodes, config.seed});
  data.weights = declared_weights.empty() ? shares(data.parts) : normalised(std::move(weights));
  return data;
}

Result<NodeData> read_node_data(const TrainingData& data, NodeIndex node, std::uint64_t seed) {
  KIMESH_CHECK(node < data.parts.size(), "a node of this data");
  auto train = data.source->read_train(data.parts[node]);
  if (!train) return train.error();
  auto test = data.source->read_test(test_part(data.source->test(), node, data.parts.size(), seed));
  if (!test) return test.error();
  NodeData own{std::move(*train), std::move(*test), {}, {}};
  own.train_order = counted(own.train.samples());
  own.test_order = counted(own.test.samples());
  return own;
}

}  // namespace kimesh
