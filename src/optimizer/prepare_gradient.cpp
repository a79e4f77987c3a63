#include "kimesh/optimizer/optimizer.h"
#include "kimesh/util/check.h"

namespace kimesh {

void clip_and_decay(const OptimizerOptions& options, kernels::Memory& memory,
                    kernels::ConstMemorySpan parameters, kernels::MemorySpan gradient) {
  KIMESH_CHECK(parameters.size == gradient.size, "one gradient element for each parameter");
  if (options.clip) memory.clip(*options.clip, gradient);
  const double decay = options.kind->at_workers().decay;
  if (decay != 0) memory.add_scaled(static_cast<float>(decay), parameters, gradient);
}

void take_momentum(const OptimizerOptions& options, kernels::Memory& memory,
                   kernels::MemorySpan gradient, kernels::MemorySpan velocity, bool taken_ahead) {
  KIMESH_CHECK(velocity.size == (options.keeps_velocity() ? gradient.size : 0),
               "a velocity with momentum, and only then");
  if (velocity.empty()) return;
  const OptimizerKind::AtWorkers does = options.kind->at_workers();
  const auto momentum = static_cast<float>(does.momentum);
  does.nesterov && !taken_ahead ? memory.nesterov(momentum, gradient, velocity)
                                : memory.momentum(momentum, gradient, velocity);
}

void prepare_gradient(const OptimizerOptions& options, kernels::Memory& memory,
                      const WorkerVectors& worker) {
  clip_and_decay(options, memory, worker.parameters, worker.gradient);
  take_momentum(options, memory, worker.gradient, worker.velocity, false);
}

}  // namespace kimesh
