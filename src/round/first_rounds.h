// How much larger messages may become from one of a mesh's first rounds to the next.
#pragma once

#include <cmath>
#include <tuple>

#include "kimesh/util/ids.h"

namespace kimesh {

// Links that share an interface behind a token bucket all seem fast at first: each message is in
// time by what its own link is believed to carry. Only the time of whole rounds tells what they
// carry together. So one of a mesh's first kFirstRounds rounds that takes far longer than planned
// limits messages. A node that sent a message too large for its wire divides their sizes by the
// factor by which the round exceeded its plan. The other nodes keep the sizes of this round, since
// their links may be overestimated as well. From then on messages may become twice as large after a
// round in time, four times as large after the next one, and so on. Before such a round nothing is
// limited: first messages that leave nearly everything out cost AdamW a sixth more rounds
// (docs/experiments.md). Thread: that of the core.
class FirstRounds {
 public:
  // Ends a round. `over_plan`: the time of its messages over the planned one. `sent_too_large`:
  // whether this node sent a message that was too large for its wire. Without one a round is in
  // time up to kFarTooLongByOthers times its plan. Returns how many times as large messages may be
  // in the next round. 0: as large as links seem to carry.
  double end_round(double over_plan, bool sent_too_large) {
    if (left_ > 0) --left_;
    const bool is_far_too_long = over_plan > (sent_too_large ? kFarTooLong : kFarTooLongByOthers);
    limits_ = left_ > 0 && (limits_ || is_far_too_long);
    if (!limits_) return 0;
    const bool is_in_time = sent_too_large ? over_plan <= 1 : !is_far_too_long;
    in_time_ = is_in_time ? in_time_ + 1 : 0;
    if (is_in_time) return std::exp2(in_time_);
    return sent_too_large ? 1 / over_plan : 1;
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
  // The same where this node sent no such message. A single slow gradient exceeds a plan by less.
  static constexpr double kFarTooLongByOthers = 4;
  Round left_ = kFirstRounds;
  bool limits_ = false;
  unsigned in_time_ = 0;  // rounds in a row that were
};

}  // namespace kimesh
