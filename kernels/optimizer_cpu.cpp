#include <array>
#include <cmath>

#include "optimizer.h"

namespace kimesh::kernels {
namespace {

// In float64 and in 8 partial sums: quick, and the same bits for any instruction set.
double l2_norm(std::span<const float> x) {
  constexpr std::size_t kPartialSums = 8;
  std::array<double, kPartialSums> sums{};
  const std::size_t whole = x.size() / kPartialSums * kPartialSums;
  for (std::size_t i = 0; i < whole; i += kPartialSums)
    for (std::size_t j = 0; j < kPartialSums; ++j)
      sums[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  for (std::size_t i = whole; i < x.size(); ++i)
    sums[i - whole] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

}  // namespace

void clip(double norm_max, std::span<float> x) {
  const double norm = l2_norm(x);
  if (!std::isfinite(norm) || norm <= norm_max) return;
  const auto factor = static_cast<float>(norm_max / norm);
  for (float& value : x) value *= factor;
}

void momentum(float m, std::span<const float> gradient, std::span<float> velocity) {
  for (std::size_t j = 0; j < velocity.size(); ++j) velocity[j] = m * velocity[j] + gradient[j];
}

void nesterov(float m, std::span<float> gradient, std::span<float> velocity) {
  for (std::size_t j = 0; j < velocity.size(); ++j) {
    velocity[j] = m * velocity[j] + gradient[j];
    gradient[j] = gradient[j] + m * velocity[j];
  }
}

void sgd(float rate, std::span<const float> direction, std::span<float> x) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] -= rate * direction[j];
}

void adamw(const AdamwFactors& a, std::span<const float> direction, std::span<float> first,
           std::span<float> second, std::span<float> x) {
  float* m = first.data();
  float* v = second.data();
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float g = direction[j];
    m[j] += a.new_share1 * (g - m[j]);
    v[j] = a.old_share2 * v[j] + a.new_share2 * (g * g);
    const float denominator = std::sqrt(v[j]) / a.root2 + a.epsilon;
    x[j] = x[j] * a.shrink - a.size_of_step * (m[j] / denominator);
  }
}

}  // namespace kimesh::kernels
