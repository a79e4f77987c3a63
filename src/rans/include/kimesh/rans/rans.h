// Entropy coding of a sparse vector: the gaps between the elements that are there and, where they
// have some, a level and a sign each. Interleaved rANS (Duda, 2013; Giesen, 2014) with tables that
// both ends learn as they go (rans_model.h).
//
//   coded  = states words
//   states = for one lane state_bytes bytes, for four lanes u64 each
//   words  = u32
//
// Lane l has the elements after those of lane l - 1, one more where the count leaves a remainder;
// a round takes the next element of each. A state decodes, of an element: the gap's symbol and the
// level's; then the gap's raw bits, the sign, and the level's raw bits. Before the first two,
// before the rest, and between any two parts of the rest where that is more than 31 bits or has an
// escape, a state under 2^31 takes a word. Four lanes end with 2^31. One ends with 1 and takes
// words while there are some, so that few elements take few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/kernels/collect.h"
#include "kimesh/rans/steps.h"
#include "kimesh/util/result.h"

namespace kimesh::rans {

// What is coded of a vector. `indices` ascend; `marks` is empty (positions only), or for each of
// them 2 * level + sign. Levels are at most kLevelMax.
inline constexpr std::size_t kSizeMax = std::size_t{1} << 31;  // elements of a vector
inline constexpr std::uint32_t kLevelMax = (1u << 24) - 1;
struct Elements {
  kernels::Unfilled<std::uint32_t> indices, marks;
};

// Memory between calls. One thread at a time.
struct Scratch {
  kernels::Unfilled<std::uint64_t> codes;
  kernels::Unfilled<std::uint32_t> words;
  kernels::Unfilled<Step> steps;  // of all tables, for each time that they were made
};

// Appends `coded` to bytes; tells state_bytes, 1 to 8, which the caller keeps: decode asks for it.
// Requires 1 to `size` elements, size <= 2^31.
unsigned encode(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                std::size_t size, Scratch& scratch, std::vector<std::byte>& bytes);

// As encode, in two calls with one scratch and nothing between. The first tells how many bits
// `coded` takes: with one lane up to 16 too few, with four within 64. The second writes it.
[[nodiscard]] std::uint64_t measure(std::span<const std::uint32_t> indices,
                                    std::span<const std::uint32_t> marks, std::size_t size,
                                    Scratch& scratch);
unsigned write(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
               Scratch& scratch, std::vector<std::byte>& bytes);

// What decode has to know beside the bytes.
struct Plan {
  std::size_t count, size;  // elements that are coded, elements of the vector
  bool with_marks;
  unsigned state_bytes;
};

// Requires 1 <= count <= size <= 2^31. Errors: Malformed where encode does not make such bytes.
// With marks no memory is taken for more elements than the bytes can hold; positions alone may take
// next to no bytes, so that their number is for the caller to bound.
[[nodiscard]] Status decode(std::span<const std::byte> bytes, const Plan& plan, Elements& elements);

}  // namespace kimesh::rans
