// Rounds that neither gradients nor the rates of links fill: the ways of many hops, or waiting.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kIdleMin = 0.4;  // of a round; less is the price of any exchange

}  // namespace

std::optional<Finding> find_idle_rounds(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  if (measures.links.empty() || measures.compute_share() >= kComputeBound) return std::nullopt;
  const Busiest busiest = busiest_link(measures);
  if (busiest.busy >= kBusyMin) return std::nullopt;
  double work_s = 0, way_s = 0;
  for (const NodeMeasures& node : measures.nodes)
    work_s = std::max(work_s, node.encode_s + node.apply_s + node.step_s);
  for (const LinkMeasures& link : measures.links) way_s = std::max(way_s, link.fixed_cost_s);
  const double used = measures.compute_share() + work_s / measures.mean_round_s + busiest.busy;
  if (1 - used < kIdleMin) return std::nullopt;
  Finding finding;
  finding.weight = 1 - used;
  finding.text = fmt::format(
      "Rounds are mostly idle: of {} the longest gradient takes {}, coding and applying {}, and "
      "the busiest link, {}, sends {}. A round has {} messages one after another, and a message "
      "takes up to {} besides its bytes.",
      seconds_text(measures.mean_round_s), percent_text(measures.compute_share()),
      percent_text(work_s / measures.mean_round_s), input.link(busiest.link),
      percent_text(busiest.busy), input.history.plan.hops, seconds_text(way_s));
  const auto use = input.history.config.compression.policy->round_time_use();
  finding.remedy = input.history.config.round_time && use != RoundTimeUse::kNone
                       ? "A shorter round_time, or none with policy: auto"
                       : "Fewer hops (kind: parameter_server), or messages beside gradients "
                         "(overlap: true, with feedback: ef14)";
  return finding;
}

}  // namespace kimesh
