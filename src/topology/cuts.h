// The cuts of the flat vector into shards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// A payload's length has 32 bits, and a dense payload has 4 bytes an element.
inline constexpr std::size_t kShardElementsMax = (std::size_t{1} << 30) - 1;
// Each shard has channels at all nodes, and messages in each phase of a round: with more than so
// many, of one owner and of all, the memory and the work for each would be felt. A plan that has
// more owners has one shard of each.
inline constexpr std::size_t kShardsPerOwnerMax = 64, kCutShardsMax = 1024;

// A part of the vector for each owner, in order, sized by `weights` (> 0, one an owner; empty: all
// equal), and each part in one shard, or, where `elements_max` is given, in as few equal ones as
// have at most so many elements, within the numbers above. Every cut lies between two rows: at
// the one that is nearest to the wanted cut and leaves no shard empty, so that shards may be larger
// by a row. Errors: UserInput when there are more owners than rows, or a shard is too large.
[[nodiscard]] Result<std::vector<Shard>> cut_shards(const Layout& layout,
                                                    std::span<const NodeIndex> owners,
                                                    std::span<const double> weights,
                                                    std::optional<std::size_t> elements_max);

}  // namespace kimesh
