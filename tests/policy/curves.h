// Curves and messages of known content, for the tests of policies.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/util/random.h"

namespace kimesh {

// The curve of a layer with these magnitudes, every element a point of its own.
inline PieceCurve exact_curve(std::vector<double> magnitudes) {
  std::ranges::sort(magnitudes, std::greater<>());
  PieceCurve curve{static_cast<std::uint32_t>(magnitudes.size()), {}};
  double missing = 0;
  for (std::size_t k = magnitudes.size(); k > 0; --k) {
    curve.points.push_back({static_cast<double>(k), missing});
    missing += magnitudes[k - 1] * magnitudes[k - 1];
  }
  curve.points.push_back({0, missing});
  std::ranges::reverse(curve.points);
  return curve;
}

// As measure_curve makes it, of a heavy-tailed layer: each layer has its own scale, as in training.
inline PieceCurve random_curve(std::size_t size, double scale, Random& random) {
  std::vector<float> values(size);
  for (float& x : values)
    x = static_cast<float>(scale * random.normal() * std::exp(random.normal()));
  const Piece piece{0, size};
  return measure_curve(values, std::span(&piece, 1))[0];
}

inline double missing_energy(const Curve& curve, const std::vector<std::uint32_t>& shares) {
  double missing = 0;
  for (std::size_t l = 0; l < curve.size(); ++l) missing += curve[l].missing_energy(shares[l]);
  return missing;
}

}  // namespace kimesh
