// Block quantisers: every element of a difference is coded, and its decoded value is added to the
// estimate. Implemented in kernels/simd_quantisers.h.
//
//   bfloat16   each element's upper half of a float32
//   sign       blocks of 256: the mean magnitude as scale, then a bit an element, 1 below zero, the
//              first element in the lowest bit; decodes to ± scale
//   sign2      blocks of 256: two scales, the mean magnitude of the elements that are no larger
//              than the block's root mean square, and that of the larger ones (the first again,
//              where none is larger); then the bits of sign, then as many that are 1 for the larger
//              elements; decodes to ± one of the scales
//   int8       blocks of 256: scale, then levels -127..127 as i8; decodes to level · scale
//   int4       blocks of 64: scale, then levels -7..7 in two's complement, an even element in the
//              lower half of its byte; decodes to level · scale
//
// A scale is the upper half of a float32 >= 0, so that level · scale is a float32: decoding is
// exact, and the addition rounds once. Blocks follow one another; the last one may be shorter.
// Unused bits are 0. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kimesh/kernels/collect.h"
#include "kimesh/kernels/small_floats.h"

namespace kimesh::kernels {

enum class BlockFormat : std::uint8_t { kBfloat16, kSign, kInt8, kInt4, kSign2 };

// Bytes of a block's scales and elements of a whole block.
[[nodiscard]] constexpr std::size_t scale_bytes(BlockFormat blocks) {
  constexpr std::size_t kScales[] = {0, 1, 1, 1, 2};
  return kScales[static_cast<std::size_t>(blocks)] * sizeof(std::uint16_t);
}
[[nodiscard]] constexpr std::size_t block_elements(BlockFormat blocks) {
  return blocks == BlockFormat::kInt4 ? 64 : 256;
}

// Bytes of the codes of `size` elements of one block.
[[nodiscard]] constexpr std::size_t code_bytes(BlockFormat blocks, std::size_t size) {
  if (blocks == BlockFormat::kSign2) return 2 * code_bytes(BlockFormat::kSign, size);
  constexpr std::size_t kBits[] = {16, 1, 8, 4};
  return (size * kBits[static_cast<std::size_t>(blocks)] + 7) / 8;
}

[[nodiscard]] constexpr std::size_t quantised_bytes(BlockFormat blocks, std::size_t size) {
  const std::size_t whole = block_elements(blocks), rest = size % whole;
  return size / whole * (scale_bytes(blocks) + code_bytes(blocks, whole)) +
         (rest > 0 ? scale_bytes(blocks) + code_bytes(blocks, rest) : 0);
}

// The scale of a block whose largest magnitude is `largest`: rounded up, so that the largest level
// reaches it.
[[nodiscard]] constexpr std::uint16_t level_scale(float largest, float level_max) {
  return to_bfloat16_up(largest / level_max);
}

// The level of an element. Towards zero its product never passes the magnitude: a float32 under
// level · scale is so by at least one part in 2^24, and no quotient of the two rounds up to the
// level. To nearest it is never infinite.
[[nodiscard]] constexpr std::int32_t level_of(float magnitude, float scale, float level_max,
                                              Rounding rounding) {
  constexpr float kWhole = 12582912;  // 1.5 · 2^23: added and taken away, only whole numbers stay
  const float ratio = scale > 0 ? magnitude / scale : 0;
  const float capped = ratio < level_max ? ratio : level_max;
  if (rounding == Rounding::kTowardsZero) return static_cast<std::int32_t>(capped);
  const auto level = static_cast<std::int32_t>((capped + kWhole) - kWhole);
  const bool overflows = magnitude_bits(static_cast<float>(level) * scale) >= kInfinityBits;
  return level - (overflows ? 1 : 0);
}

// Writes target − estimate. Fills `bytes`. Shapes: target, estimate [n]; bytes
// [quantised_bytes(blocks, n)]. Energies as in collect.h; where they are not finite the bytes
// are worthless.
Energies quantise(BlockFormat blocks, Rounding rounding, std::span<const float> target,
                  std::span<const float> estimate, std::span<std::byte> bytes);

// Whether these are bytes that quantise could have written for so many elements: their number,
// scales, levels and padding, and every decoded value is finite.
[[nodiscard]] bool is_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                                std::size_t size);

// estimate[j] += what `bytes` say of j, one rounding each. Requires is_quantised.
void add_quantised(BlockFormat blocks, std::span<const std::byte> bytes, std::span<float> estimate);

// The same, and returns the energy of what is left, target − estimate after, as collect.h sums.
double add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                     std::span<const float> target, std::span<float> estimate);

}  // namespace kimesh::kernels
