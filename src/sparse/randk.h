// randk: the values under a random mask that both ends draw from a seed, so that no index is sent.
//
//   seeded  empty for a vector without elements, else
//           format  u8: bits 0-1 are the format of the values (entry_format.h), all others 0
//           seed    u32
//           count   as packed.h
//           values  as values.h, by ascending index
//
// The mask is a uniformly random set of `count` elements. Elements are drawn one after the other
// from the counter-based generator (seed, 0, 0, kMask); an element that was drawn before is drawn
// again. Where more than half of the elements are kept, the elements that are left out are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "entry_format.h"

namespace kimesh {

// The indices of the mask, ascending. Requires count <= size < 2^32. Memory: size / 8 bytes. Time:
// at most about 1.4 draws for each of min(count, size − count) elements.
[[nodiscard]] std::vector<std::uint32_t> draw_mask(std::uint32_t seed, std::size_t count,
                                                   std::size_t size);

// Bytes of a message of `count` elements; 0 where count is 0.
[[nodiscard]] std::size_t seeded_bytes(ValueFormat values, std::size_t count);

// The most elements, at most `size`, that take no more than `budget_bytes`.
[[nodiscard]] std::uint32_t seeded_that_fits(ValueFormat values, std::size_t budget_bytes,
                                             std::size_t size);

}  // namespace kimesh
