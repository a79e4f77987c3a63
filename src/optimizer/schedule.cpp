#include "kimesh/optimizer/schedule.h"

#include "kimesh/config/keys.h"
#include "limits.h"

namespace kimesh {

// The table of schedules: a line each.
#define KIMESH_SCHEDULES(SCHEDULE) \
  SCHEDULE(kConstantSchedule)      \
  SCHEDULE(kStepSchedule)          \
  SCHEDULE(kCosineSchedule)

#define DECLARE(kind) extern const Kind<ScheduleKind> kind;
#define ENTRY(kind) kind,
KIMESH_SCHEDULES(DECLARE)

KindTable<ScheduleKind>& schedule_kinds() {
  static KindTable<ScheduleKind> table("schedule", {KIMESH_SCHEDULES(ENTRY)});
  return table;
}

void ScheduleOptions::describe(Keys& keys) {
  keys.kind("kind", kind, schedule_kinds(), "how lr changes with the rounds");
  keys.whole(
      "warmup", warmup, limits::kRoundCountsOrNone,
      "rounds of linear rise at the start; without it none, or 4 where adamw sends its steps "
      "under policy auto (ef14)");
}

double ScheduleOptions::factor(Round round) const {
  const Round rounds = warmup.value_or(0);
  const double rise = round < rounds ? (static_cast<double>(round) + 1) / rounds : 1;
  return rise * kind->factor(round);
}

}  // namespace kimesh
