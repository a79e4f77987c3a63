// The formats of the ascending indices of a sparse message.
//
//   raw     u32 each
//   packed  Elias-Fano (Elias, 1974; Fano, 1971): the low l bits of every index, then the upper
//           parts in unary: bit u_i + i is 1, where u_i is the upper part of index i; the bits
//           end at count + (upper part of size − 1). Bits fill bytes from the lowest up. l is the
//           smallest number that gives the fewest bytes.
//   coded   u8 state_bytes, then the positions as rans.h codes them: the shortest format, since
//           indices come in clusters
//
// The length of raw and packed indices follows from the number of elements and of indices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

// Bytes of `count` indices below `size`; monotonic in count. Requires 1 <= count <= size < 2^32.
[[nodiscard]] std::size_t raw_index_bytes(std::size_t count);
[[nodiscard]] std::size_t packed_index_bytes(std::size_t count, std::size_t size);

// Append to `bytes`. Require at least one index; indices ascend and are below `size`.
void write_raw_indices(std::span<const std::uint32_t> indices, std::vector<std::byte>& bytes);
void write_packed_indices(std::span<const std::uint32_t> indices, std::size_t size,
                          std::vector<std::byte>& bytes);
// Returns false, and leaves `bytes` as they are, where packed indices take no more bytes, or where
// the vector is too large for the coder.
[[nodiscard]] bool write_coded_indices(std::span<const std::uint32_t> indices, std::size_t size,
                                       std::vector<std::byte>& bytes);

// Fill `indices`. read_raw_indices and read_packed_indices require as many bytes as
// raw_index_bytes and packed_index_bytes say. Errors: Malformed, where indices do not ascend or are
// not below `size`, or where unused bits are not 0.
[[nodiscard]] Status read_raw_indices(std::span<const std::byte> bytes, std::size_t size,
                                      std::span<std::uint32_t> indices);
[[nodiscard]] Status read_packed_indices(std::span<const std::byte> bytes, std::size_t size,
                                         std::span<std::uint32_t> indices);
[[nodiscard]] Status read_coded_indices(std::span<const std::byte> bytes, std::size_t size,
                                        std::span<std::uint32_t> indices);

}  // namespace kimesh
