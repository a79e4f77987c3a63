// Curves of pieces, from histograms of their magnitudes.
#pragma once

#include <cstddef>

#include "kimesh/codec/curve.h"
#include "kimesh/kernels/memory.h"

namespace kimesh {

// The curve of a piece of `size` elements, from what a pass counted of it. `top` is memory that the
// caller keeps between calls.
[[nodiscard]] PieceCurve curve_of(std::size_t size, const kernels::PartMagnitudes& magnitudes,
                                  kernels::MagnitudeHistogram& top);

}  // namespace kimesh
