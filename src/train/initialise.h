// The first point of a run, drawn by kimesh itself so that nodes need not send it: they compute the
// same bits wherever their libm and CPU family are the same. Uniform draws are equal on all
// machines. Normal ones use the log, sine and cosine of libm (util/random.h), whose last bits may
// differ; the handshake refuses nodes whose first points do.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/objective/model_kind.h"
#include "kimesh/topology/layout.h"

namespace kimesh {

// Our own counter-based draws, by a layer's name and shape: as the kind's initial_draw says, else
// - linear and convolution layers, as torch: weight and bias uniform in ±1/√fan_in;
// - norms: weight 1, bias 0.
// Shapes: parameters [layout.size()]. Requires the whole model's layout, frozen layers too, in
// which a module's weight comes before its bias.
void initialise_parameters(const ModelKind& kind, const Layout& layout, std::uint64_t seed,
                           std::span<float> parameters);

}  // namespace kimesh
