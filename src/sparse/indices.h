// The indices of a sparse message, ascending, in the format that its first byte names.
//
//   raw     u32 each
//   packed  Elias-Fano (Elias, 1974; Fano, 1971): of each index the low `l` bits, one after the
//           other; then its upper part in unary: with u_i the i-th, bit u_i + i is 1, and all bits
//           up to count + upper part of size − 1 are there. Bits fill bytes from the lowest up; of
//           all l the least that makes the fewest bytes.
//   coded   u8 state_bytes, then what rans.h makes of positions alone: as few bytes as it can,
//           since indices come in clusters
//
// The first two have a length that the numbers of elements and of indices give.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

// Bytes of `count` indices below `size`; grows with count. Requires 1 <= count <= size < 2^32.
[[nodiscard]] std::size_t raw_index_bytes(std::size_t count);
[[nodiscard]] std::size_t packed_index_bytes(std::size_t count, std::size_t size);

// Write behind `bytes`. Requires ascending indices below `size`, at least one.
void write_raw_indices(std::span<const std::uint32_t> indices, std::vector<std::byte>& bytes);
void write_packed_indices(std::span<const std::uint32_t> indices, std::size_t size,
                          std::vector<std::byte>& bytes);
// Leaves `bytes` as they are and returns false where packed ones take no more, or where the vector
// is too large for the coder.
[[nodiscard]] bool write_coded_indices(std::span<const std::uint32_t> indices, std::size_t size,
                                       std::vector<std::byte>& bytes);

// Fill `indices`. The first two require as many bytes as these functions above say. Errors:
// Malformed (indices that do not ascend or reach `size`, bits where there are none).
[[nodiscard]] Status read_raw_indices(std::span<const std::byte> bytes, std::size_t size,
                                      std::span<std::uint32_t> indices);
[[nodiscard]] Status read_packed_indices(std::span<const std::byte> bytes, std::size_t size,
                                         std::span<std::uint32_t> indices);
[[nodiscard]] Status read_coded_indices(std::span<const std::byte> bytes, std::size_t size,
                                        std::span<std::uint32_t> indices);

}  // namespace kimesh
