// A node whose gradients the others wait for.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kSlower = 1.3;        // so many times the others' median
constexpr double kWaitShareMin = 0.1;  // of a round, which the others wait

}  // namespace

std::optional<Finding> find_straggler(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  if (measures.nodes.empty()) return std::nullopt;
  const auto gradient = [](const NodeMeasures& node) { return node.gradient_s.p50; };
  const auto slowest = std::ranges::max_element(measures.nodes, {}, gradient);
  const auto node = static_cast<NodeIndex>(slowest - measures.nodes.begin());
  std::vector<double> others;
  for (NodeIndex i = 0; i < measures.nodes.size(); ++i)
    if (i != node && measures.nodes[i].rounds > 0) others.push_back(gradient(measures.nodes[i]));
  if (others.empty()) return std::nullopt;
  const double median = spread_of(std::move(others)).p50;
  const double waits_s = gradient(*slowest) - median;
  const double share = waits_s / measures.mean_round_s;
  if (gradient(*slowest) < kSlower * median || share < kWaitShareMin) return std::nullopt;
  Finding finding;
  finding.weight = share;
  finding.text = fmt::format(
      "Node {} makes the others wait: its gradient takes {}, theirs {} (medians), which is {} of a "
      "round.",
      input.node(node), seconds_text(gradient(*slowest)), seconds_text(median),
      percent_text(share));
  if (input.what_if != nullptr && input.what_if->trouble().empty())
    if (const auto outcomes = input.what_if->relative({.faster_node = node}))
      finding.text += fmt::format(" Were it as fast as they, a round would take {} of the time.",
                                  percent_text(outcomes->round));
  finding.remedy = "Smaller batches, or fewer local_steps, for that node; more cores or threads";
  return finding;
}

}  // namespace kimesh
