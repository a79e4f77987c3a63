#include "kimesh/optimizer/optimizer.h"
#include "kimesh/util/check.h"

namespace kimesh {

void prepare_gradient(const OptimizerOptions& options, kernels::Memory& memory,
                      const WorkerVectors& worker, bool looks_ahead) {
  const auto& [parameters, gradient, velocity] = worker;
  KIMESH_CHECK(parameters.size == gradient.size, "one gradient element for each parameter");
  KIMESH_CHECK(velocity.size == (options.keeps_velocity() ? gradient.size : 0),
               "a velocity with momentum, and only then");
  const OptimizerKind::AtWorkers does = options.kind->at_workers();
  if (options.clip) memory.clip(*options.clip, gradient);
  if (does.decay != 0) memory.add_scaled(static_cast<float>(does.decay), parameters, gradient);
  if (velocity.empty()) return;
  const auto momentum = static_cast<float>(does.momentum);
  does.nesterov && !looks_ahead ? memory.nesterov(momentum, gradient, velocity)
                                : memory.momentum(momentum, gradient, velocity);
}

}  // namespace kimesh
