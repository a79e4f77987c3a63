// How many handshakes of newcomers a node begins (HandshakeLimit). Pure.
#pragma once

#include <algorithm>

#include "kimesh/link/network.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// A token bucket, full at the start. Thread: one.
class HandshakePace {
 public:
  explicit HandshakePace(HandshakeLimit limit) : limit_(limit), left_(limit.at_once) {}
  // Takes one handshake. False: none is due yet.
  [[nodiscard]] bool take(TimePoint now) {
    left_ = std::min(limit_.at_once, left_ + limit_.per_s * to_seconds(now - filled_));
    filled_ = now;
    if (left_ < 1) return false;
    --left_;
    return true;
  }

 private:
  HandshakeLimit limit_;
  double left_;
  TimePoint filled_{};
};

}  // namespace kimesh
