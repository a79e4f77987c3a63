// Weights of the nodes as the problems need them.
#pragma once

#include <span>
#include <vector>

#include "kimesh/util/check.h"

namespace kimesh {

// ω_i: `weights` scaled to sum to 1; equal ones where it is empty. Requires positive weights.
inline std::vector<double> shares(std::span<const double> weights, std::size_t nodes) {
  KIMESH_CHECK(nodes > 0, "a mesh has nodes");
  KIMESH_CHECK(weights.empty() || weights.size() == nodes, "each node has a weight, or none has");
  std::vector<double> result(nodes, 1.0);
  if (!weights.empty()) result.assign(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : result) {
    KIMESH_CHECK(weight > 0, "weights are positive");
    sum += weight;
  }
  for (double& weight : result) weight /= sum;
  return result;
}

}  // namespace kimesh
