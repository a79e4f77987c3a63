// Curves of pieces, from histograms of their magnitudes.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/collect.h"
#include "kernels/histogram.h"
#include "kimesh/compress/curve.h"

namespace kimesh {

// Of a piece of `size` elements that were all counted; of the first `energy` is known better than
// bins tell. Shapes: bins [kMagnitudeBins].
[[nodiscard]] PieceCurve counted_curve(std::size_t size, kernels::MagnitudeHistogram& histogram,
                                       double energy);
[[nodiscard]] PieceCurve counted_curve(std::size_t size,
                                       std::span<const kernels::MagnitudeBin> bins);

// Of a piece whose elements from `lower` on are known, and of which scratch.histogram has a sample.
[[nodiscard]] PieceCurve sampled_curve(std::size_t size, float lower, std::span<const float> known,
                                       double energy, kernels::SelectScratch& scratch);

}  // namespace kimesh
