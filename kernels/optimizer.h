// What turns gradients into steps, elementwise with one rounding per operation.
// kernels/optimizer_cpu.cpp is the reference.
#pragma once

#include <span>

#include "kimesh/kernels/adamw_factors.h"

namespace kimesh::kernels {

// Scales x to the L2 norm `norm_max` where its norm is larger. A vector with NaN or infinity stays
// as it is, so that it is still found.
void clip(double norm_max, std::span<float> x);

// velocity = m velocity + gradient.
void momentum(float m, std::span<const float> gradient, std::span<float> velocity);

// velocity = m velocity + gradient, then gradient = gradient + m velocity: what torch.optim.SGD
// steps along with nesterov.
void nesterov(float m, std::span<float> gradient, std::span<float> velocity);

// x = x - rate direction.
void sgd(float rate, std::span<const float> direction, std::span<float> x);

// One step of AdamW. `first` and `second` are the moments.
void adamw(const AdamwFactors& factors, std::span<const float> direction, std::span<float> first,
           std::span<float> second, std::span<float> x);

}  // namespace kimesh::kernels
