// What turns gradients into steps: elementwise, on spans, without LibTorch. Momentum lives at the
// workers, AdamW's moments at the shard's owner (docs/architecture.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/adamw_factors.h"
#include "kimesh/optimizer/optimizer_config.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Learning rate of `round`: lr × warm-up × schedule. A step schedule with `every` 0 and a cosine
// with `rounds` 0 are constant; after its half wave a cosine stays at 0.
[[nodiscard]] double learning_rate(const OptimizerConfig& config, Round round);

// Whether the workers keep a velocity: sgd with momentum.
[[nodiscard]] bool keeps_velocity(const OptimizerConfig& config);

// At the worker, in this order: clip g to the global L2 norm `clip`, add coupled decay g += λ w
// (sgd only), momentum v = m v + g. Without momentum `velocity` is empty and g is the contribution.
// A gradient with NaN or infinity is not clipped, so that it is still found. Spans [d]; one
// rounding per operation.
void fold_gradient(const OptimizerConfig& config, std::span<const float> parameters,
                   std::span<float> gradient, std::span<float> velocity);

// Of step number `steps` of a shard, counted from 1, in `round`: computed in float64, rounded once.
[[nodiscard]] kernels::AdamwFactors adamw_factors(const OptimizerConfig& config, Round round,
                                                  std::uint64_t steps);

// At the owner of a shard: x -= lr · p for sgd; AdamW (Loshchilov and Hutter, 2019; as
// torch.optim.AdamW) on its own span otherwise. Holds the moments. Thread: one at a time.
class ShardOptimizer {
 public:
  ShardOptimizer(const OptimizerConfig& config, std::size_t size);
  // Shapes: parameters [size], direction [size] (the mesh's weighted gradient).
  void step(Round round, std::span<float> parameters, std::span<const float> direction);
  [[nodiscard]] std::size_t bytes_held() const;  // of the moments

 private:
  void adamw_step(Round round, std::span<float> parameters, std::span<const float> direction);

  OptimizerConfig config_;
  std::size_t size_;
  AlignedBuffer first_, second_;  // adamw only
  std::uint64_t steps_ = 0;
};

}  // namespace kimesh
