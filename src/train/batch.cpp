#include "src/train/batch.h"

namespace kimesh {

Batch make_batch(const Dataset& data, std::span<const std::uint32_t> samples) {
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

torch::Tensor one_row_a_target(const torch::Tensor& scores) {
  return scores.flatten(0, -2);
}

}  // namespace kimesh
