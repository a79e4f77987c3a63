// Turns gradients into steps: elementwise, in any memory, without LibTorch. The workers keep
// momentum; an optimizer's other state is kept by the owner of a shard, or by every worker where
// workers send movements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kimesh/kernels/memory.h"
#include "kimesh/optimizer/optimizer_kind.h"
#include "kimesh/optimizer/schedule.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {

// The section `optimizer` of a config.
struct OptimizerOptions {
  std::shared_ptr<OptimizerKind> kind = optimizer_kinds().make("sgd");
  double lr = 0.1;
  // `lr: theory`: the largest step size that is proven to converge, which is known with the problem
  // only (run/options.h). The code that prepares a run sets `lr` then.
  bool lr_is_theory = false;
  std::optional<double> clip;  // largest L2 norm of the node's own gradient, over all layers
  ScheduleOptions schedule;

  void describe(Keys& keys);
  // lr × warm-up × schedule.
  [[nodiscard]] double learning_rate(Round round) const { return lr * schedule.factor(round); }
  // Whether the workers keep a velocity.
  [[nodiscard]] bool keeps_velocity() const { return kind->at_workers().momentum > 0; }
  // What the decoupled decay of one step leaves of a parameter.
  [[nodiscard]] double kept_by_decay(Round round) const {
    return kind->kept_by_decay(learning_rate(round));
  }
  // Whether the contribution is in the velocity; else prepare_gradient leaves it in the gradient.
  [[nodiscard]] bool sends_velocity() const {
    return keeps_velocity() && !kind->at_workers().nesterov;
  }
};

// The vectors of a worker, all [d]. Without momentum there is no velocity.
struct WorkerVectors {
  kernels::ConstMemorySpan parameters;
  kernels::MemorySpan gradient, velocity;
};

// At the worker, in this order: clips g to the L2 norm `clip`, adds decay, updates the velocity v,
// with nesterov adds momentum · v to g. The contribution is v or g (sends_velocity). A gradient
// with NaN or infinity is not clipped, so that it is still found. One rounding per operation.
// The work is queued where the memory has a queue.
void prepare_gradient(const OptimizerOptions& options, kernels::Memory& memory,
                      const WorkerVectors& worker);
// Its two parts. `parameters` are those of the gradient. A gradient that was taken ahead, where
// Nesterov's momentum leads, has none added: v is the contribution.
void clip_and_decay(const OptimizerOptions& options, kernels::Memory& memory,
                    kernels::ConstMemorySpan parameters, kernels::MemorySpan gradient);
void take_momentum(const OptimizerOptions& options, kernels::Memory& memory,
                   kernels::MemorySpan gradient, kernels::MemorySpan velocity, bool taken_ahead);

// The mesh's weighted movement, and the mean of the steps that it is made of (LocalSteps::of_mesh).
struct Movement {
  kernels::ConstMemorySpan of;
  double steps = 1;
};
// The owner's part where workers send movements (Feedback::kEf14), which are steps already:
// shrinks the parameters by the decoupled decay of so many steps, then subtracts the movement.
void step_by_movement(const OptimizerOptions& options, kernels::Memory& memory, Round round,
                      const Movement& movement, kernels::MemorySpan parameters);

// The optimizer of one shard at its owner, or of all shards at a worker that sends movements.
// Thread: one at a time.
class ShardOptimizer {
 public:
  // `memory` outlives this. Errors: Io, when it has no room for the state.
  [[nodiscard]] static Result<ShardOptimizer> create(const OptimizerOptions& options,
                                                     kernels::Memory& memory, std::size_t size);
  // Shapes: parameters [size], direction [size] (the mesh's weighted gradient). Queued, where the
  // memory has a queue.
  void step(Round round, kernels::MemorySpan parameters, kernels::ConstMemorySpan direction);
  // The same step from parameters of 0. Overwrites `moved` with the result.
  void step_from_zero(Round round, kernels::MemorySpan moved, kernels::ConstMemorySpan direction);
  [[nodiscard]] std::size_t bytes_held() const;  // of the state
  // Its state, for who cuts it anew: vectors of `size`, and the number of its steps.
  [[nodiscard]] std::vector<kernels::MemorySpan> vectors() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }
  // Its vectors and the number of its steps. Errors: Io, where a device failed.
  [[nodiscard]] Status save(StateWriter& writer) const;
  // Fails the reader where the bytes do not suffice.
  void restore(StateReader& reader);

 private:
  ShardOptimizer(const OptimizerOptions& options, kernels::Memory& memory, std::size_t size)
      : options_(options), memory_(&memory), size_(size) {}

  OptimizerOptions options_;
  kernels::Memory* memory_;
  std::size_t size_;
  std::vector<kernels::MemoryBuffer> state_;
  std::uint64_t steps_ = 0;
};

}  // namespace kimesh
