// The section `optimizer` of a config.
#pragma once

#include <optional>

#include "kimesh/util/ids.h"

namespace kimesh {

enum class OptimizerKind { kSgd, kAdamw };
enum class ScheduleKind { kConstant, kStep, kCosine };

// lr(round) = lr * warm-up * schedule; a function of the round only.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::kConstant;
  Round warmup = 0;     // rounds of linear rise, (round + 1) / warmup
  Round every = 0;      // step: rounds between drops
  double factor = 0.1;  // step: multiplier at each drop
  Round rounds = 0;     // cosine: length of the half wave
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kSgd;
  double lr = 0.1;
  double momentum = 0;                                // sgd, at the workers
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adamw, at the owner
  double weight_decay = 0;     // sgd: coupled, at the workers; adamw: decoupled, at the owner
  std::optional<double> clip;  // global L2 norm of the node's own gradient
  ScheduleConfig schedule;
};

}  // namespace kimesh
