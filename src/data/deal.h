// What several splits do: deal samples out by size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/data/split_kind.h"

namespace kimesh {

using Parts = std::vector<std::vector<std::uint32_t>>;  // [nodes][samples of the node]

constexpr std::uint32_t kOrderStream = 0, kDirichletStream = 1;  // of Purpose::kDataSplit

// Stratified: each node gets about the same share of every class. Sizes are in proportion to
// `weights` [nodes], at least 1 each.
[[nodiscard]] Parts deal_stratified(const SplitRequest& request, std::span<const double> weights);

}  // namespace kimesh
