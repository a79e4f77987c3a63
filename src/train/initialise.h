// The first point of a run, drawn by kimesh itself so that every node computes the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/topology/layout.h"

namespace kimesh {

// Our own counter-based draws, by a layer's name and shape:
// - linear and convolution layers, as torch: weight and bias uniform in ±1/√fan_in;
// - norms: weight 1, bias 0; the second norm of a residual block ("bn2.weight") 0, so that every
//   block starts as its shortcut (Goyal et al., 2017, 5.1);
// - lstm.*: uniform in ±1/√hidden, as torch;
// - embedding.weight normal(0, 1), as torch; tokens.weight and positions.weight normal(0, 0.02);
// - what a transformer's block adds to its shortcut (out_proj, linear2): as linear layers, times
//   1/√(2 · blocks) (both of GPT-2: Radford et al., 2019, 2.3).
// Shapes: parameters [layout.size()]. Requires the whole model's layout, frozen layers too, in
// which a module's weight comes before its bias.
void initialise_parameters(const Layout& layout, std::uint64_t seed, std::span<float> parameters);

}  // namespace kimesh
