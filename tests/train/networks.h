// Networks at the first point of a run, and small tasks that they learn by heart.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "kimesh/util/random.h"
#include "src/train/initialise.h"
#include "src/train/models.h"
#include "tests/train/fixture.h"

namespace kimesh {

constexpr std::uint64_t kSeed = 5;

inline SampleShape images(std::int64_t side, std::int64_t channels = 3, std::int64_t classes = 10) {
  return {SampleShape::Kind::kImage, channels, side, side, 0, 0, classes};
}
inline SampleShape tokens(std::int64_t length, std::int64_t vocabulary) {
  return {SampleShape::Kind::kTokens, 0, 0, 0, length, vocabulary, vocabulary};
}

inline std::shared_ptr<NeuralNetwork> drawn_network(const ModelOptions& model,
                                                    const SampleShape& shape) {
  const auto network = make_network(*model.kind, shape);
  const Layout layout = layout_of(*network);
  std::vector<float> values(layout.size());
  initialise_parameters(*model.kind, layout, kSeed, values);
  const torch::NoGradGuard no_gradient;
  const auto parameters = network->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].copy_(
        torch::from_blob(values.data() + layout.layers[i].offset, layout.layers[i].shape));
  return network;
}

struct Task {
  torch::Tensor inputs, targets;
};

// Noise with labels: to be learnt by heart.
inline Task noise_images(const SampleShape& shape) {
  constexpr std::int64_t kCount = 16;
  Task task{torch::empty({kCount, shape.channels, shape.height, shape.width}),
            torch::arange(kCount).remainder(shape.classes)};
  Random random(kSeed, 0, 0, Purpose::kTest);
  auto* values = task.inputs.data_ptr<float>();
  for (std::int64_t i = 0; i < task.inputs.numel(); ++i)
    values[i] = static_cast<float>(random.normal());
  return task;
}

// Every token follows from the one before it: 3t + 1 modulo the vocabulary.
inline Task successions(const SampleShape& shape) {
  const auto begin = torch::arange(shape.vocabulary);
  std::vector<torch::Tensor> columns{begin};
  for (std::int64_t i = 0; i < shape.length; ++i)
    columns.push_back((3 * columns.back() + 1).remainder(shape.vocabulary));
  const auto all = torch::stack(columns, 1);
  return {all.slice(1, 0, shape.length), all.slice(1, 1, shape.length + 1)};
}

// Losses of the first step and of the last.
inline std::pair<double, double> train(const ModelOptions& model, const SampleShape& shape,
                                       int steps) {
  const Task task = model.kind->reads_tokens() ? successions(shape) : noise_images(shape);
  const auto network = drawn_network(model, shape);
  torch::optim::AdamW optimizer(network->parameters(), torch::optim::AdamWOptions(0.005));
  std::pair<double, double> losses{0, 0};
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const auto scores = scores_of(*network, task.inputs, model.compute).flatten(0, -2);
    const auto loss = torch::nn::functional::cross_entropy(scores, task.targets.flatten());
    loss.backward();
    optimizer.step();
    losses.second = loss.item<float>();
    if (step == 0) losses.first = losses.second;
  }
  return losses;
}

}  // namespace kimesh
