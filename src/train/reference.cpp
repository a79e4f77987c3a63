#include "reference.h"

#include <torch/nn/functional/loss.h>
#include <torch/optim.h>

#include <map>
#include <numeric>
#include <string_view>

#include "batch.h"
#include "initialise.h"
#include "kimesh/config/key_text.h"
#include "kimesh/util/check.h"
#include "models.h"

namespace kimesh {
namespace {

using Parameters = std::vector<torch::Tensor>;

using Numbers = std::map<std::string, double>;  // by the keys of the section optimizer
using OptimizerPtr = std::unique_ptr<torch::optim::Optimizer>;

OptimizerPtr make_sgd(const Numbers& numbers, const Parameters& parameters) {
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(numbers.at("lr"))
                                                 .momentum(numbers.at("momentum"))
                                                 .nesterov(numbers.at("nesterov") != 0)
                                                 .weight_decay(numbers.at("weight_decay")));
}

OptimizerPtr make_adamw(const Numbers& numbers, const Parameters& parameters) {
  return std::make_unique<torch::optim::AdamW>(
      parameters, torch::optim::AdamWOptions(numbers.at("lr"))
                      .betas({numbers.at("beta1"), numbers.at("beta2")})
                      .eps(numbers.at("epsilon"))
                      .weight_decay(numbers.at("weight_decay")));
}

// Torch's optimizers, by the names of ours.
const std::map<std::string_view, OptimizerPtr (*)(const Numbers&, const Parameters&)>
    kTorchOptimizers = {{"sgd", make_sgd}, {"adamw", make_adamw}};

OptimizerPtr make_optimizer(OptimizerOptions options, const Parameters& parameters) {
  const auto make = kTorchOptimizers.find(options.kind->kind_name());
  KIMESH_CHECK(make != kTorchOptimizers.end(), "an optimizer that torch has as well");
  Numbers numbers = key_numbers([&](Keys& keys) { options.describe(keys); });
  numbers["lr"] = options.lr;
  numbers["nesterov"] = options.kind->at_workers().nesterov ? 1 : 0;
  return make->second(numbers, parameters);
}

bool is_constant(const ScheduleOptions& schedule, Round rounds) {
  for (Round round = 0; round < rounds; ++round)
    if (schedule.factor(round) != 1) return false;
  return true;
}

void fill(const Parameters& parameters, const Layout& layout, std::span<float> values) {
  const torch::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LayoutLayer& layer = layout.layers[i];
    parameters[i].copy_(torch::from_blob(values.data() + layer.offset, layer.shape));
  }
}

std::vector<float> flat(const Parameters& parameters) {
  std::vector<float> values;
  for (const auto& parameter : parameters) {
    const auto* begin = parameter.const_data_ptr<float>();
    values.insert(values.end(), begin, begin + parameter.numel());
  }
  return values;
}

// One forward pass over everybody's samples; each counts ω_i / (samples of node i's batch).
torch::Tensor joined_loss(NeuralNetwork& network, const RunConfig& config, const TrainingData& data,
                          const Dataset& train, Round round) {
  std::vector<std::uint32_t> joined;
  std::vector<float> weights;
  for (NodeIndex node = 0; node < data.parts.size(); ++node) {
    const auto samples =
        batch_samples(data.parts[node], config.data.batch, round, node, config.seed);
    joined.insert(joined.end(), samples.begin(), samples.end());
    const double weight = data.weights[node] / static_cast<double>(samples.size());
    weights.insert(weights.end(), samples.size(), static_cast<float>(weight));
  }
  const Batch batch = make_batch(train, joined);
  const auto options = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone);
  const auto losses = torch::nn::functional::cross_entropy(
      one_row_a_target(network.forward(batch.inputs)), batch.targets.flatten(), options);
  const auto samples = static_cast<std::int64_t>(joined.size());
  return losses.view({samples, -1}).mean(1).dot(torch::tensor(weights));
}

}  // namespace

ReferenceRun train_joined(const RunConfig& config, const TrainingData& data, Round rounds) {
  KIMESH_CHECK(!config.optimizer.clip && is_constant(config.optimizer.schedule, rounds),
               "a reference without clipping or schedule");
  std::vector<std::uint32_t> all(data.source->train().samples());
  std::iota(all.begin(), all.end(), 0u);
  const auto train = data.source->read_train(all);
  KIMESH_CHECK(train.ok(), train.error().message);
  const auto network = make_network(*config.model.kind, data.source->shape());
  const Layout layout = layout_of(*network);
  ReferenceRun run;
  run.parameters.resize(layout.size());
  initialise_parameters(*config.model.kind, layout, config.seed, run.parameters);
  fill(network->parameters(), layout, run.parameters);
  const auto optimizer = make_optimizer(config.optimizer, network->parameters());
  for (Round round = 0; round < rounds; ++round) {
    optimizer->zero_grad();
    const auto loss = joined_loss(*network, config, data, *train, round);
    loss.backward();
    optimizer->step();
    run.losses.push_back(loss.item<float>());
  }
  run.parameters = flat(network->parameters());
  return run;
}

}  // namespace kimesh
