#include <cmath>

#include "kimesh/optimizer/optimizer.h"
#include "kimesh/util/check.h"

namespace kimesh {

ShardOptimizer::ShardOptimizer(const OptimizerConfig& config, std::size_t size)
    : config_(config), size_(size) {
  if (config.kind != OptimizerKind::kAdamw) return;
  first_ = AlignedBuffer(size);
  second_ = AlignedBuffer(size);
}

std::size_t ShardOptimizer::bytes_held() const {
  return (first_.size() + second_.size()) * sizeof(float);
}

void ShardOptimizer::step(Round round, std::span<float> parameters,
                          std::span<const float> direction) {
  KIMESH_CHECK(parameters.size() == size_ && direction.size() == size_,
               "spans of the shard's size");
  const double lr = learning_rate(config_, round);
  if (config_.kind == OptimizerKind::kAdamw) return adamw_step(lr, parameters, direction);
  const auto rate = static_cast<float>(lr);
  for (std::size_t j = 0; j < size_; ++j) parameters[j] -= rate * direction[j];
}

// Algorithm 2 of the paper with the schedule's factor in lr, in the order of operations of
// torch.optim.AdamW: scalars in float64, elements in float32.
void ShardOptimizer::adamw_step(double lr, std::span<float> parameters,
                                std::span<const float> direction) {
  ++steps_;
  const auto count = static_cast<double>(steps_);
  const double correction1 = 1 - std::pow(config_.beta1, count);
  const double correction2 = 1 - std::pow(config_.beta2, count);
  const auto shrink = static_cast<float>(1 - lr * config_.weight_decay);
  const auto new_share1 = static_cast<float>(1 - config_.beta1);
  const auto new_share2 = static_cast<float>(1 - config_.beta2);
  const auto old_share2 = static_cast<float>(config_.beta2);
  const auto size_of_step = static_cast<float>(lr / correction1);
  const auto root2 = static_cast<float>(std::sqrt(correction2));
  const auto epsilon = static_cast<float>(config_.epsilon);
  float* x = parameters.data();
  float* m = first_.span().data();
  float* v = second_.span().data();
  for (std::size_t j = 0; j < size_; ++j) {
    const float g = direction[j];
    m[j] += new_share1 * (g - m[j]);
    v[j] = old_share2 * v[j] + new_share2 * (g * g);
    const float denominator = std::sqrt(v[j]) / root2 + epsilon;
    x[j] = x[j] * shrink - size_of_step * (m[j] / denominator);
  }
}

}  // namespace kimesh
