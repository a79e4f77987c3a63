#include <algorithm>
#include <cmath>
#include <numbers>

#include "kimesh/config/keys.h"
#include "kimesh/optimizer/schedule.h"
#include "limits.h"

namespace kimesh {
namespace {

// Half a wave, after which it stays at 0.
class CosineSchedule final : public ScheduleKind {
 public:
  void describe(Keys& keys) override {
    keys.require("rounds", "rounds: with the length of the half wave, such as rounds: 600");
    keys.whole("rounds", rounds_, limits::kRoundCounts, "rounds until lr is 0");
  }

  double factor(Round round) const override {
    const double done =
        static_cast<double>(std::min(round, rounds_)) / static_cast<double>(rounds_);
    return 0.5 * (1 + std::cos(std::numbers::pi * done));
  }

 private:
  Round rounds_ = 1000;
};

}  // namespace

extern const Kind<ScheduleKind> kCosineSchedule;
const Kind<ScheduleKind> kCosineSchedule = {"cosine", "lr falls to 0 along half a cosine wave",
                                            make_options<CosineSchedule, ScheduleKind>};

}  // namespace kimesh
