// Passes over float32 vectors. kernels/vector_math_cpu.cpp is the meaning.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace kimesh::kernels {

// Σ x² in float64, in 8 fixed lanes: the same bits for any instruction set.
[[nodiscard]] double energy(std::span<const float> x);

// Position of the first element that is NaN or infinite.
[[nodiscard]] std::optional<std::size_t> first_not_finite(std::span<const float> x);

}  // namespace kimesh::kernels
