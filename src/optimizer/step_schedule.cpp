#include <cmath>

#include "kimesh/config/keys.h"
#include "kimesh/optimizer/schedule.h"
#include "limits.h"

namespace kimesh {
namespace {

class StepSchedule final : public ScheduleKind {
 public:
  void describe(Keys& keys) override {
    keys.require("every", "every: with the rounds between drops, such as every: 200");
    keys.whole("every", every_, limits::kRoundCounts, "rounds between drops");
    keys.number("factor", factor_, {0, 1, true}, "what lr is multiplied with at each drop");
  }

  double factor(Round round) const override { return std::pow(factor_, round / every_); }

 private:
  Round every_ = 100;
  double factor_ = 0.1;
};

}  // namespace

extern const Kind<ScheduleKind> kStepSchedule;
const Kind<ScheduleKind> kStepSchedule = {"step", "lr drops by a factor every so many rounds",
                                          make_options<StepSchedule, ScheduleKind>};

}  // namespace kimesh
