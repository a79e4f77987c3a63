// Schedules of the learning rate: functions of the round only. A schedule is one file in
// src/optimizer and one line in its table.
#pragma once

#include <memory>
#include <optional>

#include "kimesh/config/kind_table.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class ScheduleKind : public KindOptions {
 public:
  // The factor of the learning rate in `round`, in [0, 1].
  [[nodiscard]] virtual double factor(Round round) const = 0;
};

[[nodiscard]] KindTable<ScheduleKind>& schedule_kinds();

// The section `optimizer.schedule` of a config.
struct ScheduleOptions {
  std::shared_ptr<ScheduleKind> kind = schedule_kinds().make("constant");
  // Rounds of linear rise: factor (round + 1) / warmup. Without a value there is no rise, unless
  // the policy of the run asks for one (run/options.cpp).
  std::optional<Round> warmup;

  void describe(Keys& keys);
  // The factor of warm-up and kind together.
  [[nodiscard]] double factor(Round round) const;
};

}  // namespace kimesh
