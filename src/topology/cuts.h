// Where the flat vector is cut into shards.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// A payload's bytes are counted in 32 bits, and a dense one has 4 an element.
inline constexpr std::size_t kShardElementsMax = (std::size_t{1} << 30) - 1;

// One shard per owner, in order, sized by `weights` (> 0, one an owner; empty: all equal). Every
// cut lies between two rows, at the one nearest to where the weights want it that leaves no shard
// empty. Errors: UserInput when there are more owners than rows, or a shard is too large.
[[nodiscard]] Result<std::vector<Shard>> cut_shards(const Layout& layout,
                                                    std::span<const NodeIndex> owners,
                                                    std::span<const double> weights);

}  // namespace kimesh
