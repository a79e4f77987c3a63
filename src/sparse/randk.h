// randk: values of a mask that both ends draw, so that no index travels.
//
//   seeded  nothing for a vector without elements, or
//           format  u8: bits 0-1 the format of the values, as in formats.h; the others 0
//           seed    u32
//           count   as in packed.h
//           values  in values.h, by ascending index
//
// The mask is `count` of all elements, every set of so many as likely: elements are drawn one after
// the other from the counter-based generator (seed, 0, 0, kMask), one that was drawn before is
// drawn again. Where more than half of the elements are kept those left out are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "entry_format.h"

namespace kimesh {

// Ascending. Requires count <= size < 2^32. Takes size / 8 bytes of memory, and the time of at most
// about 1.4 draws for each of min(count, size − count).
[[nodiscard]] std::vector<std::uint32_t> draw_mask(std::uint32_t seed, std::size_t count,
                                                   std::size_t size);

// Bytes of a message of `count` elements; 0 for none.
[[nodiscard]] std::size_t seeded_bytes(ValueFormat values, std::size_t count);

// The most elements that take no more than `budget_bytes`, at most `size`.
[[nodiscard]] std::uint32_t seeded_that_fits(ValueFormat values, std::size_t budget_bytes,
                                             std::size_t size);

}  // namespace kimesh
