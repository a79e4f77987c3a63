// What a topk message carries: which elements of the difference.
#pragma once

#include "kimesh/codec/difference.h"

namespace kimesh {

// Fills scratch.entries with what topk keeps of `keep` elements, as the setting allots them to the
// pieces; the difference is read once. Requires 1 <= keep <= size. Errors: as Difference.
[[nodiscard]] Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep);

}  // namespace kimesh
