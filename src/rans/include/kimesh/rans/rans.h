// Entropy coding of a sparse vector: the gaps between the elements that are coded and, for
// quantised elements, a level and a sign each. The coder is interleaved rANS (Duda, "Asymmetric
// numeral systems", 2013; Giesen, "Interleaved entropy coders", 2014) with adaptive frequency
// tables, which both ends derive from the symbols so far (model.h); no table is transmitted.
//
//   coded  = states words
//   states = for one stream state_bytes bytes, for four streams u64 each
//   words  = u32
//
// A message has one stream, or four from kFewElements elements on. Stream l holds a run of elements
// that follows the run of stream l - 1; where the count leaves a remainder, the first streams hold
// one element more. A round decodes the next element of every stream.
//
// An element is decoded from the state of its stream in this order: the symbol of the gap, the
// symbol of the level; then the raw bits of the gap, the sign, the raw bits of the level. A state
// under 2^31 is refilled with one word before the symbols and before the raw bits. Where the raw
// bits are more than 31, or a symbol is the escape, the state is refilled after each part of the
// raw bits as well. Four streams end with the state 2^31. A single stream ends with the state 1 and
// is refilled only while there are words, so that few elements take few bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/kernels/collect.h"
#include "kimesh/rans/steps.h"
#include "kimesh/util/result.h"

namespace kimesh::rans {

// The coded elements of a vector. `indices` ascend. `marks` holds 2 * level + sign for each index,
// or is empty where positions alone are coded. Levels are at most kLevelMax.
inline constexpr std::size_t kSizeMax = std::size_t{1} << 31;  // elements of a vector
inline constexpr std::uint32_t kLevelMax = (1u << 24) - 1;
struct Elements {
  kernels::UninitializedVector<std::uint32_t> indices, marks;
};

// Memory that the caller keeps between calls. One thread at a time.
struct Scratch {
  kernels::UninitializedVector<std::uint64_t> codes;
  kernels::UninitializedVector<std::uint32_t> words;
  kernels::UninitializedVector<Step> steps;  // of all tables, for each renewal in order
};

// Appends `coded` to `bytes`. Returns state_bytes, 1 to 8, which decode needs: the caller stores
// it. Requires 1 to `size` elements, size <= 2^31.
unsigned encode(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                std::size_t size, Scratch& scratch, std::vector<std::byte>& bytes);

// encode in two calls with the same scratch, and no other call in between. measure returns the
// number of bits that `coded` will take: up to 16 too few with one stream, within 64 with four.
// write appends the bytes and returns state_bytes.
[[nodiscard]] std::uint64_t measure(std::span<const std::uint32_t> indices,
                                    std::span<const std::uint32_t> marks, std::size_t size,
                                    Scratch& scratch);
unsigned write(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
               Scratch& scratch, std::vector<std::byte>& bytes);

// What decode needs to know beside the bytes.
struct DecodeParameters {
  std::size_t count, size;  // coded elements; elements of the vector
  bool with_marks;
  unsigned state_bytes;
};

// Requires 1 <= count <= size <= 2^31. Errors: Malformed, for bytes that encode never writes. With
// marks, memory is taken for no more elements than the bytes can hold. Positions alone may take
// almost no bytes: the caller bounds their number.
[[nodiscard]] Status decode(std::span<const std::byte> bytes, const DecodeParameters& parameters,
                            Elements& elements);

}  // namespace kimesh::rans
