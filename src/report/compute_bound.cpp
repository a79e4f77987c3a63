// Rounds that gradients fill: slow links do not matter.
#include <fmt/format.h>

#include "rules.h"

namespace kimesh {

std::optional<Finding> find_compute_bound(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  const double share = measures.compute_share();
  if (share < kComputeBound) return std::nullopt;
  Finding finding;
  finding.weight = share > 1 ? 1 : share;
  finding.text = fmt::format(
      "The run is compute-bound: the longest gradient, {}, takes {} of a round. Slow links do not "
      "matter: without any wire rounds would be at most {} shorter.",
      seconds_text(measures.longest_gradient_s), percent_text(finding.weight),
      percent_text(1 - finding.weight));
  return finding;
}

}  // namespace kimesh
