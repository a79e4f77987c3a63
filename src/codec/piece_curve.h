// The curve of one piece, from a histogram of its magnitudes.
#pragma once

#include <cstddef>

#include "kimesh/codec/curve.h"
#include "kimesh/kernels/memory.h"

namespace kimesh {

// The curve of a piece of `size` elements, from the magnitudes that a pass counted. `top` is
// scratch memory that the caller keeps between calls.
[[nodiscard]] PieceCurve curve_of(std::size_t size, const kernels::PartMagnitudes& magnitudes,
                                  kernels::MagnitudeHistogram& top);

}  // namespace kimesh
