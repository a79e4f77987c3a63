// Passes over float32 vectors, one rounding per operation. kernels/vector_math_cpu.cpp is the
// reference: all other implementations give its bits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kimesh::kernels {

// Σ x² in float64, in 8 partial sums: the same bits for any instruction set.
[[nodiscard]] double energy(std::span<const float> x);

// Appends the floats to `bytes` and returns their energy, with the bits of energy(), in one read.
// It is not finite where an element is not, and is finite otherwise.
[[nodiscard]] double append_with_energy(std::span<const float> x, std::vector<std::byte>& bytes);

// A term of a sum: the floats, or `factor` times each of them.
struct SumTerm {
  std::span<const float> floats;
  std::optional<float> factor{};
};

// Appends the sum of the terms, added in order, to `bytes`, and returns its energy, as
// append_with_energy does. The sum lies nowhere else: a block of it is made at a time. Requires a
// term; all have one size.
[[nodiscard]] double append_sum_with_energy(std::span<const SumTerm> terms,
                                            std::vector<std::byte>& bytes);

// Position of the first element that is NaN or infinite.
[[nodiscard]] std::optional<std::size_t> first_not_finite(std::span<const float> x);

// Spans of one call have one size.
void scale(float a, std::span<const float> x, std::span<float> y);       // y = a x
void add_scaled(float a, std::span<const float> x, std::span<float> y);  // y = y + a x
void add(std::span<const float> x, std::span<float> y);                  // y = y + x
void subtract(std::span<const float> x, std::span<float> y);             // y = y - x

}  // namespace kimesh::kernels
