// The number of a run, or of its going on (round/control.h).
#pragma once

#include <cstdint>

#include "kimesh/link/network.h"
#include "kimesh/round/control.h"

namespace kimesh {

// Another one each time, as good as surely.
[[nodiscard]] inline std::uint64_t new_lineage() {
  return kLineageMin + new_incarnation() % (kLineageMax - kLineageMin + 1);
}

}  // namespace kimesh
