// Nodes that would have shorter rounds if they were joined otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/records/run_folder.h"
#include "kimesh/run/compare_joins.h"
#include "kimesh/run/options.h"
#include "rules.h"

namespace kimesh {
namespace {

constexpr double kWorthChanging = 0.75;  // of the time of a round; a smaller gain is none

// The command that finds these joins and writes them.
std::string command(const RunHistory& history, const RunMeasures& measures, bool emulated) {
  const RunFolder folder(history.folder);
  double gradient_s = 0;
  for (const NodeMeasures& node : measures.nodes)
    gradient_s = std::max(gradient_s, node.gradient_s.p50);
  gradient_s /= std::ranges::max(local_steps(history.config, history.topology));
  return fmt::format("kimesh plan {} --config {} --compute {}us{} --suggest best.yaml",
                     folder.topology(), folder.config(),
                     std::max(1.0, std::round(1e6 * gradient_s)),
                     emulated ? "" : " --measured " + history.folder);
}

}  // namespace

std::optional<Finding> find_other_joins(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  const bool can_tell = input.what_if != nullptr && input.what_if->trouble().empty();
  if (!can_tell || measures.links.empty() || measures.compute_share() >= kComputeBound)
    return std::nullopt;
  const auto other = input.what_if->other_joins();
  if (!other || other->round > kWorthChanging) return std::nullopt;
  Finding finding;
  // A slow link or an idle round, which say why, come before what might be done.
  finding.weight = kBusyMin * (1 - other->round);
  finding.text = fmt::format(
      "Joined otherwise, these nodes would have shorter rounds: a round of {} would take "
      "{} of the time, at the rates that {}.",
      other->text, percent_text(other->round),
      other->emulated ? "the topology emulates" : "this run measured");
  if (other->unknown_pairs > 0)
    finding.text += fmt::format(
        " Of {} directed pairs of nodes the rate is not known, and none of "
        "them is used.",
        other->unknown_pairs);
  finding.remedy = command(input.history, measures, other->emulated);
  return finding;
}

}  // namespace kimesh
