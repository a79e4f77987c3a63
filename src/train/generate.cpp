#include "kimesh/train/generate.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "models.h"
#include "whole_model.h"
#include "with_torch.h"

namespace kimesh {
namespace {

std::shared_ptr<NeuralNetwork> network_at(const RunConfig& config, const SampleShape& shape,
                                          const std::vector<float>& parameters) {
  auto network = make_network(*config.model.kind, shape);
  const Layout layout = layout_of(*network);
  KIMESH_CHECK(layout.size() == parameters.size(), "parameters of this model");
  auto layer = layout.layers.begin();
  for (torch::Tensor& parameter : network->parameters()) {
    // Memory of its own: a file may hold a parameter transposed, or all of it at one place.
    auto values = torch::empty(layer->shape, torch::kFloat32);
    const std::span from = std::span(parameters).subspan(layer->offset, layer->size);
    std::ranges::copy(from, values.mutable_data_ptr<float>());
    parameter.set_data(values);
    ++layer;
  }
  return network;
}

// The scores of what follows the last of these tokens. Shape: [vocabulary].
std::vector<float> scores_after(NeuralNetwork& network, std::span<const std::uint16_t> tokens,
                                ComputeKind compute) {
  const torch::NoGradGuard no_gradient;
  auto inputs = torch::empty({1, static_cast<std::int64_t>(tokens.size())}, torch::kInt64);
  std::ranges::copy(tokens, inputs.mutable_data_ptr<std::int64_t>());
  const auto last = scores_of(network, inputs, compute).select(0, 0).select(0, -1).contiguous();
  const float* scores = last.const_data_ptr<float>();
  return {scores, scores + last.numel()};
}

// By softmax(scores / temperature).
std::uint16_t drawn(std::span<const float> scores, double temperature, Random& random) {
  const double highest = std::ranges::max(scores);
  std::vector<double> up_to;
  double sum = 0;
  for (const float score : scores)
    up_to.push_back(sum += std::exp((static_cast<double>(score) - highest) / temperature));
  const auto at = std::ranges::upper_bound(up_to, random.uniform() * sum);
  return static_cast<std::uint16_t>(
      std::min<std::ptrdiff_t>(at - up_to.begin(), std::ssize(up_to) - 1));
}

}  // namespace

Result<std::vector<std::uint16_t>> generate_tokens(const RunConfig& config,
                                                   const TrainingData& data,
                                                   const TextRequest& request) {
  KIMESH_CHECK(!request.prompt.empty() && request.temperature > 0 && data.start,
               "a prompt, a temperature and a model");
  const SampleShape& shape = data.source->shape();
  const auto network = with_torch([&] { return network_at(config, shape, *data.start); });
  const auto length = static_cast<std::size_t>(shape.length);
  Random random(request.seed, 0, 0, Purpose::kGeneratedText);
  std::vector<std::uint16_t> tokens = request.prompt;
  for (std::size_t i = 0; i < request.tokens; ++i) {
    const auto context = std::span(tokens).last(std::min(tokens.size(), length));
    const auto scores =
        with_torch([&] { return scores_after(*network, context, config.model.compute); });
    if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); }))
      return Error{ErrorCode::kNotFinite, "the model's scores hold NaN or infinity"};
    tokens.push_back(drawn(scores, request.temperature, random));
    if (request.tell) request.tell(i + 1);
  }
  tokens.erase(tokens.begin(), tokens.begin() + std::ssize(request.prompt));
  return tokens;
}

}  // namespace kimesh
