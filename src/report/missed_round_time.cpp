// Rounds longer than the round_time that the config gives.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kMissed = 1.15;        // median round over round_time
constexpr double kGradientShare = 0.9;  // of round_time, which leaves nothing for messages

struct Reason {
  double seconds = 0;
  std::string text;
};

}  // namespace

std::optional<Finding> find_missed_round_time(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  const auto& wanted = input.history.config.round_time;
  const auto use = input.history.config.compression.policy->round_time_use();
  if (!wanted || use == RoundTimeUse::kNone) return std::nullopt;
  const double wanted_s = to_seconds(*wanted);
  if (measures.round_s.p50 < kMissed * wanted_s) return std::nullopt;
  const Busiest busiest = busiest_link(measures);
  double work_s = 0;
  for (const NodeMeasures& node : measures.nodes)
    work_s = std::max(work_s, node.encode_s + node.apply_s + node.step_s);
  Reason reason{
      measures.longest_gradient_s,
      fmt::format("the longest gradient takes {}", seconds_text(measures.longest_gradient_s))};
  if (reason.seconds < kGradientShare * wanted_s) {
    const double wire_s = busiest.busy * measures.mean_round_s;
    const Reason others[] = {
        {wire_s, fmt::format("link {} sends for {} of a round", input.link(busiest.link),
                             seconds_text(wire_s))},
        {work_s, fmt::format("coding, applying and steps take {}", seconds_text(work_s))}};
    reason = *std::ranges::max_element(others, {}, &Reason::seconds);
  }
  Finding finding;
  finding.weight = (measures.round_s.p50 - wanted_s) / measures.round_s.p50;
  finding.text =
      fmt::format("Rounds take {} (median) in place of the round_time {}: {}.",
                  seconds_text(measures.round_s.p50), seconds_text(wanted_s), reason.text);
  finding.remedy = "A longer round_time, or none with policy: auto, which finds it";
  return finding;
}

}  // namespace kimesh
