// What a topology file says about the emulation of a link.
#pragma once

#include <optional>

#include "kimesh/emulation/rate_trace.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// What the emulation does to a link. Nothing set: the link is as fast as the machine's network.
struct LinkSpec {
  std::optional<RateTrace> rate;
  Duration delay{0};  // one way
};

}  // namespace kimesh
