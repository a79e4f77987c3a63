// Seeded orders that keep classes apart or spread them evenly.
#pragma once

#include <cstdint>
#include <vector>

#include "kimesh/data/dataset.h"
#include "kimesh/util/random.h"

namespace kimesh {

// The samples of each class, each class in an order of its own. `stream` tells the uses of one
// purpose apart. Shapes: [classes][samples of the class].
[[nodiscard]] std::vector<std::vector<std::uint32_t>> shuffled_classes(const SampleClasses& data,
                                                                       std::uint64_t seed,
                                                                       std::uint32_t stream,
                                                                       Purpose purpose);

// The same, one class after the other.
[[nodiscard]] std::vector<std::uint32_t> sorted_by_label(const SampleClasses& data,
                                                         std::uint64_t seed, std::uint32_t stream,
                                                         Purpose purpose);

}  // namespace kimesh
