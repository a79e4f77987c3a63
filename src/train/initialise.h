// The first point of a run, drawn by kimesh itself so that every node computes the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/topology/layout.h"

namespace kimesh {

// Torch's default distributions, from our own counter-based draws: weight and bias of linear and
// convolution layers uniform in ±1/√fan_in; the weight of a norm (one dimension) 1, its bias 0.
// Shapes: parameters [layout.size()]. Requires that a module's weight comes before its bias.
void initialise_parameters(const Layout& layout, std::uint64_t seed, std::span<float> parameters);

}  // namespace kimesh
