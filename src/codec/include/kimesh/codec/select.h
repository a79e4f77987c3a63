// The selection of topk, for every codec that starts from the largest elements.
#pragma once

#include "kimesh/codec/difference.h"

namespace kimesh {

// Fills scratch.entries with the `keep` largest elements, divided among the pieces as the setting's
// allocation says. Reads the difference once. Requires 1 <= keep <= size. Errors: as Difference.
[[nodiscard]] Result<PassSummary> select_topk(const AdvanceJob& job, std::uint32_t keep);

}  // namespace kimesh
