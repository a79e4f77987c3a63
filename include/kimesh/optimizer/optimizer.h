// What turns gradients into steps: elementwise, on spans, without LibTorch. Momentum lives at the
// workers, an optimizer's other state at the shard's owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/optimizer/optimizer_kind.h"
#include "kimesh/optimizer/schedule.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The section `optimizer` of a config.
struct OptimizerOptions {
  std::shared_ptr<OptimizerKind> kind = optimizer_kinds().make("sgd");
  double lr = 0.1;
  std::optional<double> clip;  // largest L2 norm of the node's own gradient, over all layers
  ScheduleOptions schedule;

  void describe(Keys& keys);
  // lr × warm-up × schedule.
  [[nodiscard]] double learning_rate(Round round) const { return lr * schedule.factor(round); }
  // Whether the workers keep a velocity.
  [[nodiscard]] bool keeps_velocity() const { return kind->at_workers().momentum > 0; }
};

// At the worker, in this order: clips g to the L2 norm `clip`, adds decay, updates the velocity.
// Without momentum `velocity` is empty and g is the contribution. A gradient with NaN or infinity
// is not clipped, so that it is still found. Spans [d]; one rounding per operation.
void prepare_gradient(const OptimizerOptions& options, std::span<const float> parameters,
                      std::span<float> gradient, std::span<float> velocity);

// The optimizer of one shard at its owner, in the host's memory. Thread: one at a time.
class ShardOptimizer {
 public:
  ShardOptimizer(const OptimizerOptions& options, std::size_t size);
  // Shapes: parameters [size], direction [size] (the mesh's weighted gradient).
  void step(Round round, std::span<float> parameters, std::span<const float> direction);
  [[nodiscard]] std::size_t bytes_held() const;  // of the state

 private:
  OptimizerOptions options_;
  std::size_t size_;
  std::vector<AlignedBuffer> state_;
  std::uint64_t steps_ = 0;
};

}  // namespace kimesh
