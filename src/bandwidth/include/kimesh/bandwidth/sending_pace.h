// How fast the messages of a link are sent where it shares an interface with others.
#pragma once

#include <tuple>

#include "kimesh/bandwidth/sample.h"

namespace kimesh {

// Flows that fill an interface together get unlike parts of it, and a round waits for the last of
// them, while interfaces at which the others have ended are idle. Flows that keep to a little more
// than what they are believed to get hardly meet. A link that carries all of its pace several
// times in a row may carry more: its headroom doubles with every further such message.
// Pure; thread: the core's.
class SendingPace {
 public:
  // In bytes/s, for a link that is believed to carry so many; 0 for 0.
  [[nodiscard]] double of(double believed_bytes_per_s) const {
    return headroom_ * believed_bytes_per_s;
  }
  // Learns from a message that was sent at `pace_bytes_per_s`, 0: at none.
  void add(const LinkSample& sample, double pace_bytes_per_s);

  static constexpr double kHeadroomMin = 1.05, kHeadroomMax = 2;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.headroom_, self.carried_);
  }

 private:
  double headroom_ = kHeadroomMin;
  unsigned carried_ = 0;  // messages in a row
};

}  // namespace kimesh
