// Elements that were picked from a vector: positions and values, as a sparse message carries them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/kernels/uninitialized_vector.h"

namespace kimesh::kernels {

// Positions ascend.
struct Entries {
  UninitializedVector<std::uint32_t> indices;
  UninitializedVector<float> values;
  [[nodiscard]] std::size_t size() const { return indices.size(); }
  void clear();
  void resize(std::size_t size);  // new ones are undefined
};

// The number of entries with a magnitude >= lower.
[[nodiscard]] std::size_t count_reaching(float lower, const Entries& entries);

// The index of the first entry whose position is at least `position`.
[[nodiscard]] std::size_t first_from(std::size_t position, const Entries& entries);

// Removes entries with a magnitude below `lower`, from the entry `first` on.
void drop_below(float lower, Entries& entries, std::size_t first = 0);

// Appends from[first, last) to `to`.
void append(const Entries& from, std::size_t first, std::size_t last, Entries& to);

// Removes from `entries` all whose positions are in `removed`.
void remove_all(const Entries& removed, Entries& entries);

// Merges `more` into `entries`. They have no position in common.
void merge(const Entries& more, Entries& entries);

}  // namespace kimesh::kernels
