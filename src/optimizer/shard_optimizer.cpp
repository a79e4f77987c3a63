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
  if (config_.kind == OptimizerKind::kAdamw) return adamw_step(round, parameters, direction);
  const auto rate = static_cast<float>(learning_rate(config_, round));
  for (std::size_t j = 0; j < size_; ++j) parameters[j] -= rate * direction[j];
}

// Algorithm 2 of the paper with the schedule's factor in lr, in the order of operations of
// torch.optim.AdamW: scalars in float64, elements in float32.
kernels::AdamwFactors adamw_factors(const OptimizerConfig& config, Round round,
                                    std::uint64_t steps) {
  const double lr = learning_rate(config, round);
  const auto count = static_cast<double>(steps);
  const double correction1 = 1 - std::pow(config.beta1, count);
  const double correction2 = 1 - std::pow(config.beta2, count);
  kernels::AdamwFactors factors;
  factors.shrink = static_cast<float>(1 - lr * config.weight_decay);
  factors.new_share1 = static_cast<float>(1 - config.beta1);
  factors.new_share2 = static_cast<float>(1 - config.beta2);
  factors.old_share2 = static_cast<float>(config.beta2);
  factors.size_of_step = static_cast<float>(lr / correction1);
  factors.root2 = static_cast<float>(std::sqrt(correction2));
  factors.epsilon = static_cast<float>(config.epsilon);
  return factors;
}

void ShardOptimizer::adamw_step(Round round, std::span<float> parameters,
                                std::span<const float> direction) {
  const kernels::AdamwFactors a = adamw_factors(config_, round, ++steps_);
  float* x = parameters.data();
  float* m = first_.span().data();
  float* v = second_.span().data();
  for (std::size_t j = 0; j < size_; ++j) {
    const float g = direction[j];
    m[j] += a.new_share1 * (g - m[j]);
    v[j] = a.old_share2 * v[j] + a.new_share2 * (g * g);
    const float denominator = std::sqrt(v[j]) / a.root2 + a.epsilon;
    x[j] = x[j] * a.shrink - a.size_of_step * (m[j] / denominator);
  }
}

}  // namespace kimesh
