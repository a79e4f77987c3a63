#include "kimesh/optimizer/schedule.h"

namespace kimesh {
namespace {

class ConstantSchedule final : public ScheduleKind {
 public:
  double factor(Round) const override { return 1; }
};

}  // namespace

extern const Kind<ScheduleKind> kConstantSchedule;
const Kind<ScheduleKind> kConstantSchedule = {"constant", "lr stays what it is",
                                              make_options<ConstantSchedule, ScheduleKind>};

}  // namespace kimesh
