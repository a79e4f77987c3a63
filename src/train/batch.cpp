#include "batch.h"

#include <algorithm>

namespace kimesh {
namespace {

Batch batch_of_images(const Dataset& data, std::span<const std::uint32_t> samples) {
  const SampleShape& shape = data.shape;
  const auto count = static_cast<std::int64_t>(samples.size());
  Batch batch{torch::empty({count, shape.channels, shape.height, shape.width}, torch::kFloat32),
              torch::empty({count}, torch::kInt64)};
  auto* input = batch.inputs.mutable_data_ptr<float>();
  auto* target = batch.targets.mutable_data_ptr<std::int64_t>();
  for (const std::uint32_t sample : samples) {
    data.copy_sample(sample, {input, shape.inputs()});
    *target++ = data.labels[sample];
    input += shape.inputs();
  }
  return batch;
}

Batch batch_of_tokens(const Dataset& data, std::span<const std::uint32_t> samples) {
  const auto count = static_cast<std::int64_t>(samples.size());
  Batch batch{torch::empty({count, data.shape.length}, torch::kInt64),
              torch::empty({count, data.shape.length}, torch::kInt64)};
  auto* input = batch.inputs.mutable_data_ptr<std::int64_t>();
  auto* target = batch.targets.mutable_data_ptr<std::int64_t>();
  for (const std::uint32_t sample : samples) {
    const auto tokens = data.tokens_of(sample);
    input = std::copy(tokens.begin(), tokens.end() - 1, input);
    target = std::copy(tokens.begin() + 1, tokens.end(), target);
  }
  return batch;
}

}  // namespace

Batch make_batch(const Dataset& data, std::span<const std::uint32_t> samples) {
  return data.shape.kind == SampleShape::Kind::kTokens ? batch_of_tokens(data, samples)
                                                       : batch_of_images(data, samples);
}

torch::Tensor one_row_a_target(const torch::Tensor& scores) {
  return scores.flatten(0, -2);
}

}  // namespace kimesh
