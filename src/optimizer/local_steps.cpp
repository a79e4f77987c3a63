#include "kimesh/optimizer/local_steps.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {

LocalSteps local_steps_of(NodeIndex node, std::span<const unsigned> steps,
                          std::span<const double> weights) {
  KIMESH_CHECK(node < steps.size() && steps.size() == weights.size(), "one entry a node");
  const unsigned own = steps[node];
  // Equal numbers need no scale, which rounded weights would make.
  if (std::ranges::all_of(steps, [&](unsigned other) { return other == own; }))
    return {own, static_cast<double>(own)};
  double mean = 0;
  for (std::size_t j = 0; j < steps.size(); ++j) mean += weights[j] * steps[j];
  return {own, mean};
}

}  // namespace kimesh
