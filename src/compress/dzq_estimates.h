// Sizes of dzq messages, from counts alone. Only operations that IEEE 754 rounds correctly: what a
// sender decides by them is the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace kimesh::dzq {

// log2, straight between powers of two: at most 0.09 too small. Requires x > 0, normal.
inline double log2_about(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  return exponent + static_cast<double>(bits & ((std::uint64_t{1} << 52) - 1)) * 0x1p-52;
}

}  // namespace kimesh::dzq
