// How much larger messages may become from one of a mesh's first rounds to the next.
#pragma once

#include <cmath>
#include <optional>
#include <tuple>

#include "kimesh/util/ids.h"

namespace kimesh {

// Links that share an interface behind a token bucket all seem fast at first, and each message is
// in time by what its own link is believed to carry. What they carry together is what their
// messages take. So after a round that took far too long, and in which a message was too large for
// its wire, the next messages are smaller by that factor. From then on they are at most twice as
// large after a round in time, four times after the next one, and so on. Before that nothing is
// limited: first messages that leave nearly everything out cost AdamW a sixth more rounds
// (docs/figures.md). Thread: that of the core.
class FirstRounds {
 public:
  // Ends a round. `over_plan`: what messages took over what was planned; nothing where none was too
  // large for its wire. Returns how many times as large messages may be in the next one; 0: as
  // large as links seem to carry.
  double end_round(const std::optional<double>& over_plan) {
    if (left_ > 0) --left_;
    const double over = over_plan.value_or(0);
    limits_ = left_ > 0 && (limits_ || over > kFarTooLong);
    if (!limits_) return 0;
    in_time_ = over > 1 ? 0 : in_time_ + 1;
    return over > 1 ? 1 / over : std::exp2(in_time_);
  }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.left_, self.limits_, self.in_time_);
  }

 private:
  static constexpr Round kFirstRounds = 12;  // after which links are known
  static constexpr double kFarTooLong = 2;
  Round left_ = kFirstRounds;
  bool limits_ = false;
  unsigned in_time_ = 0;  // rounds in a row
};

}  // namespace kimesh
