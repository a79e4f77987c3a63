// How much larger messages may become from one of a mesh's first rounds to the next.
#pragma once

#include <cmath>
#include <optional>
#include <tuple>

#include "kimesh/util/ids.h"

namespace kimesh {

// Links that share an interface behind a token bucket all seem fast at first: each message is in
// time by what its own link is believed to carry. Only the time of whole rounds tells what they
// carry together. So a first round that takes over kFarTooLong times what was planned, and in which
// a message was too large for its wire, makes the messages of the next round smaller by that
// factor. From then on messages may become twice as large after a round in time, four times as
// large after the next one, and so on. Before such a round nothing is limited: first messages that
// leave nearly everything out cost AdamW a sixth more rounds (docs/figures.md). Thread: that of the
// core.
class FirstRounds {
 public:
  // Ends a round. `over_plan`: the time of the round's messages over the planned one; nothing where
  // no message was too large for its wire. Returns how many times as large messages may be in the
  // next round. 0: as large as links seem to carry.
  double end_round(const std::optional<double>& over_plan) {
    if (left_ > 0) --left_;
    const double over = over_plan.value_or(0);
    limits_ = left_ > 0 && (limits_ || over > kFarTooLong);
    if (!limits_) return 0;
    in_time_ = over > 1 ? 0 : in_time_ + 1;
    return over > 1 ? 1 / over : std::exp2(in_time_);
  }

  // end_round() limits nothing any more.
  [[nodiscard]] bool have_ended() const { return left_ == 0; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.left_, self.limits_, self.in_time_);
  }

 private:
  static constexpr Round kFirstRounds = 12;  // after which links are known
  static constexpr double kFarTooLong = 2;
  Round left_ = kFirstRounds;
  bool limits_ = false;
  unsigned in_time_ = 0;  // rounds in a row that were
};

}  // namespace kimesh
