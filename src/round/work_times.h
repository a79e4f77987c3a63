// How long the messages of a round wait for the node's vector work, from when the core asks for it
// until its end: waiting for the one worker counts.
#pragma once

#include <algorithm>
#include <tuple>

#include "kimesh/util/ids.h"
#include "recent_median.h"

namespace kimesh {

class WorkTimes {
 public:
  // Messages that come at the same time are applied one after another, and the round waits for the
  // last one.
  void applied(Duration waited) { apply_ = std::max(apply_, waited); }
  void stepped(Duration waited) { step_ = std::max(step_, waited); }
  // The part of a message's encoding, waiting included, that does not grow with its bytes.
  void encoded(Duration waited) { encode_ = std::max(encode_, waited); }
  // What every reduce waits for besides its gradient; 0 where the trainer does it.
  void moved(Duration took) { move_ = took; }
  // `exchange`: what the round took besides gradients and evaluations.
  void end_round(Duration exchange) {
    exchanges_.add(to_seconds(std::max(exchange, Duration{0})));
    moves_.add(to_seconds(move_));
    applies_.add(to_seconds(apply_));
    steps_.add(to_seconds(step_));
    encodings_.add(to_seconds(encode_));
    apply_ = step_ = move_ = encode_ = Duration{0};
  }
  struct OfRound {
    Duration work{0}, encodings{0};
  };
  // The work of a round in which `hops` messages follow one another, so many of which are encoded.
  // Only owners step: elsewhere the step is as long as applying, which passes over as many
  // elements. All of it is no longer than what recent rounds took besides their gradients: where
  // nodes share cores, one waits while others are still at their gradients, and the sum of the
  // longest waits exceeds the round.
  [[nodiscard]] OfRound of_round(unsigned hops, unsigned encodings) const {
    const double apply_s = applies_.value(), step_s = steps_.value();
    const double work_s = moves_.value() + hops * apply_s + (step_s > 0 ? step_s : apply_s);
    const double encodings_s = encodings * encodings_.value(), sum_s = work_s + encodings_s;
    const bool exceeds = exchanges_.count() > 0 && sum_s > exchanges_.value();
    const double share = exceeds ? exchanges_.value() / sum_s : 1;
    return {from_seconds(share * work_s), from_seconds(share * encodings_s)};
  }

  // Between two rounds.
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.applies_, self.steps_, self.moves_, self.encodings_, self.exchanges_);
  }

 private:
  Duration apply_{0}, step_{0}, move_{0}, encode_{0};  // the longest of this round
  RecentMedian applies_, steps_, moves_, encodings_, exchanges_;
};

}  // namespace kimesh
