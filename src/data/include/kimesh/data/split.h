// How samples are dealt out to the nodes and to the rounds: pure functions of the seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/data/dataset.h"
#include "kimesh/data/split_kind.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Which training samples each node holds, ascending, as `kind` deals them out. Requires
// samples >= nodes >= 1.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> split_data(const SplitKind& kind,
                                                                 const SplitRequest& request);

// Node `node`'s part of the test set: every nodes-th sample of a seeded stratified order.
[[nodiscard]] std::vector<std::uint32_t> test_part(const SampleClasses& test, NodeIndex node,
                                                   std::size_t nodes, std::uint64_t seed);

// The samples of the node's batch `number`, of `batch` samples, counted from 0
// (Objective::gradient): seeded permutations of its part, one after another. A part smaller than
// the batch is repeated. Requires number · batch < 2^64.
[[nodiscard]] std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part,
                                                       int batch, std::uint64_t number,
                                                       NodeIndex node, std::uint64_t seed);

}  // namespace kimesh
