// What selections do with entries.
#pragma once

#include <cstddef>

#include "kernels/collect.h"

namespace kimesh {

[[nodiscard]] std::size_t count_reaching(float lower, const kernels::Entries& entries);

// The first entry at `position` of the vector or behind it.
[[nodiscard]] std::size_t first_from(std::size_t position, const kernels::Entries& entries);

// Takes out what does not reach `lower`, from the position `first` on.
void drop_below(float lower, kernels::Entries& entries, std::size_t first = 0);

// Puts from[first, last) behind `to`.
void append(const kernels::Entries& from, std::size_t first, std::size_t last,
            kernels::Entries& to);

}  // namespace kimesh
