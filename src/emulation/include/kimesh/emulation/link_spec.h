// The emulation of a link, as a topology file declares it.
#pragma once

#include <cstddef>
#include <optional>

#include "kimesh/emulation/rate_trace.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The emulated rate and delay of a link. Without both the link is as fast as the machine's network.
struct LinkSpec {
  std::optional<RateTrace> rate;
  Duration delay{0};  // one way
  // A token bucket of so many bytes: an idle link saves up its rate and sends that much at once.
  // Means nothing without a rate.
  std::size_t bucket_bytes = 0;
};

}  // namespace kimesh
