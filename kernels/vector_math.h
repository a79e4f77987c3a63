// Elementwise passes over float32 vectors. One rounding per operation; kernels/vector_math_cpu.cpp
// is the meaning.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace kimesh::kernels {

// Σ x² in float64, in 8 fixed lanes: the same bits for any instruction set.
[[nodiscard]] double energy(std::span<const float> x);

// Position of the first element that is NaN or infinite.
[[nodiscard]] std::optional<std::size_t> first_not_finite(std::span<const float> x);

struct Difference {
  bool finite = false;        // every element of the difference is
  double target_energy = 0;   // as energy(target)
  double missing_energy = 0;  // as energy(difference)
};

// difference = target − estimate, one rounding each, and the energies, all in one pass.
// Shapes: all three of one size.
[[nodiscard]] Difference subtract(std::span<const float> target, std::span<const float> estimate,
                                  std::span<float> difference);

}  // namespace kimesh::kernels
