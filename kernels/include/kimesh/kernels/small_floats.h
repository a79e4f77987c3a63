// Numbers of 16 bits that stand for a float32, in integer arithmetic and exact multiplications
// only: the same bits on every machine, GPUs too. All values are finite.
#pragma once

#include <bit>
#include <cstdint>

#include "kimesh/kernels/rounding.h"

namespace kimesh::kernels {

inline constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000;  // NaN: above

[[nodiscard]] constexpr std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & kMagnitudeMask;
}

// The upper half of a float32.
[[nodiscard]] constexpr float from_bfloat16(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

// Towards zero, or to nearest but never to infinity.
[[nodiscard]] constexpr std::uint16_t to_bfloat16(float x, Rounding rounding) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t half = rounding == Rounding::kNearest ? 0x7fff + (bits >> 16 & 1) : 0;
  const std::uint32_t rounded = bits + half;
  const bool overflows = (rounded & kMagnitudeMask) >= kInfinityBits;
  return static_cast<std::uint16_t>((overflows ? bits : rounded) >> 16);
}

// Away from zero. Requires a number that is far from overflow.
[[nodiscard]] constexpr std::uint16_t to_bfloat16_up(float x) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) + 0xffff) >> 16);
}

// 2^exponent, for -126 <= exponent <= 127.
[[nodiscard]] constexpr float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// IEEE binary16. Requires a code that is not infinite: code & 0x7c00 != 0x7c00.
[[nodiscard]] constexpr float from_float16(std::uint16_t code) {
  const std::uint32_t magnitude = code & 0x7fff, sign = std::uint32_t{code} >> 15 << 31;
  const float denormal = static_cast<float>(magnitude & 0x3ff) * power_of_two(-24);
  const std::uint32_t normal_bits = (magnitude << 13) + (112u << 23);
  const std::uint32_t bits =
      magnitude < 0x400 ? std::bit_cast<std::uint32_t>(denormal) : normal_bits;
  return std::bit_cast<float>(bits | sign);
}

// Requires |x| <= 2^15.
[[nodiscard]] constexpr std::uint16_t to_float16(float x, Rounding rounding) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & kMagnitudeMask, exponent = magnitude >> 23;
  const std::uint32_t sign = bits >> 31 << 15;
  if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of the least, 2^-24
  const bool normal = exponent >= 113;
  const std::uint32_t shift = normal ? 13 : 126 - exponent;
  // A denormal shows its leading one; a normal number's exponent is counted from 112.
  const std::uint32_t digits =
      normal ? magnitude - (112u << 23) : (magnitude & 0x7fffff) | 0x800000;
  std::uint32_t code = digits >> shift;
  if (rounding == Rounding::kNearest) {
    const std::uint32_t rest = digits - (code << shift), half = 1u << (shift - 1);
    code += rest > half || (rest == half && (code & 1) == 1) ? 1 : 0;
  }
  return static_cast<std::uint16_t>(sign | code);
}

}  // namespace kimesh::kernels
