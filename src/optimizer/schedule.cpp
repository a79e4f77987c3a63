#include <algorithm>
#include <cmath>
#include <numbers>

#include "kimesh/optimizer/optimizer.h"

namespace kimesh {
namespace {

double schedule_factor(const ScheduleConfig& schedule, Round round) {
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return 1;
    case ScheduleKind::kStep:
      return schedule.every == 0 ? 1 : std::pow(schedule.factor, round / schedule.every);
    case ScheduleKind::kCosine: {
      if (schedule.rounds == 0) return 1;
      const double done = static_cast<double>(std::min(round, schedule.rounds)) /
                          static_cast<double>(schedule.rounds);
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
    }
  }
  return 1;
}

}  // namespace

double learning_rate(const OptimizerConfig& config, Round round) {
  const Round warmup = config.schedule.warmup;
  const double rise = round < warmup ? (static_cast<double>(round) + 1) / warmup : 1;
  return config.lr * rise * schedule_factor(config.schedule, round);
}

}  // namespace kimesh
