// Seeded residuals (target − estimate of a channel in training) for tests and benches of
// compressors, so that these need no training run, and the inputs that they are compared with.
// All are functions of (size, seed) and of the machine's libm: what both ends of a channel compute
// rests on nothing here. Any size from 0; sizes up to 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kimesh/codec/piece.h"
#include "kimesh/util/aligned_buffer.h"

namespace kimesh::test {

struct Residual {
  AlignedBuffer values;       // [size]
  std::vector<Piece> pieces;  // layers: contiguous, in order, none empty; none for size 0
};

// What EF21 leaves of the gradient of a transformer: layers in the proportions of four blocks whose
// width grows with the size; within a layer every row and every column has a scale, so that energy
// clusters; embeddings and the head are loud, all other matrices quiet. Rows of the embedding that
// make up the size are nearly silent.
// residual_test.cpp holds it to captured.json, which bench_residual measured in training.
[[nodiscard]] Residual make_residual(std::size_t size, std::uint64_t seed);

// Independent draws, one piece. Variance 1, except that student's t with 2 degrees of freedom has
// none.
[[nodiscard]] Residual gaussian(std::size_t size, std::uint64_t seed);
[[nodiscard]] Residual laplace(std::size_t size, std::uint64_t seed);
[[nodiscard]] Residual heavy_tailed(std::size_t size, std::uint64_t seed);

}  // namespace kimesh::test
