// Elements that were picked from a vector: positions and values, as a sparse message carries them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/kernels/unfilled.h"

namespace kimesh::kernels {

// Positions ascend.
struct Entries {
  Unfilled<std::uint32_t> indices;
  Unfilled<float> values;
  [[nodiscard]] std::size_t size() const { return indices.size(); }
  void clear();
  void resize(std::size_t size);  // new ones are undefined
};

// How many have a magnitude >= lower.
[[nodiscard]] std::size_t count_reaching(float lower, const Entries& entries);

// The first entry at `position` of the vector or behind it.
[[nodiscard]] std::size_t first_from(std::size_t position, const Entries& entries);

// Removes those with a magnitude below `lower`, from the entry `first` on.
void drop_below(float lower, Entries& entries, std::size_t first = 0);

// Puts from[first, last) behind `to`.
void append(const Entries& from, std::size_t first, std::size_t last, Entries& to);

// Removes from `entries` those whose positions `removed` has.
void remove_all(const Entries& removed, Entries& entries);

// Merges `more` into `entries`. They have no position in common.
void merge(const Entries& more, Entries& entries);

}  // namespace kimesh::kernels
