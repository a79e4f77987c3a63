// The cuts of the flat vector into shards.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// A payload's length has 32 bits, and a dense payload has 4 bytes an element.
inline constexpr std::size_t kShardElementsMax = (std::size_t{1} << 30) - 1;

// One shard per owner, in order, sized by `weights` (> 0, one an owner; empty: all equal). Every
// cut lies between two rows: at the one that is nearest to the weighted cut and leaves no shard
// empty. Errors: UserInput when there are more owners than rows, or a shard is too large.
[[nodiscard]] Result<std::vector<Shard>> cut_shards(const Layout& layout,
                                                    std::span<const NodeIndex> owners,
                                                    std::span<const double> weights);

}  // namespace kimesh
