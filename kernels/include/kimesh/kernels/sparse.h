// What a receiver does with the indices and values of a sparse message, which lie at any address of
// its bytes: u32 and float32, little-endian. kernels/sparse_cpu.cpp is the reference.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace kimesh::kernels {

// Whether every index is above the one before it and below `size`, and every value finite: one look
// at a message, which lasts as long as its bytes take to come from memory. Requires as many values
// as indices. False may also be said where size > 2^32 - 1: the two below find what is wrong.
[[nodiscard]] bool all_entries_correct(std::span<const std::byte> indices,
                                       std::span<const std::byte> values, std::size_t size);

// Position of the first index that is not above the one before it, or not below `size`.
[[nodiscard]] std::optional<std::size_t> first_out_of_order(std::span<const std::byte> indices,
                                                            std::size_t size);

// Position of the first value that is NaN or infinite.
[[nodiscard]] std::optional<std::size_t> first_value_not_finite(std::span<const std::byte> values);

// estimate[index] += value for each entry, one rounding each. Requires as many values as indices,
// in order and below the estimate's size.
void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                std::span<float> estimate);

}  // namespace kimesh::kernels
