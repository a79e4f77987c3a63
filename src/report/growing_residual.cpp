// A residual that grows: messages leave out more and more of what there is to send.
#include <fmt/format.h>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kGrowth = 1.3;  // last third of the measured rounds over the first
constexpr double kResidualShareMin =
    0.3;  // of what there is to send; a smaller residual does no harm

// The mean of residual_share over all nodes and rounds of [first, end); negative: none is recorded.
double residual_share(const RunHistory& history, Round first, Round end) {
  double sum = 0;
  std::size_t count = 0;
  for (const NodeHistory& node : history.nodes)
    for (const RoundRecord& round : node.rounds)
      if (round.residual_share && round.round >= first && round.round < end)
        sum += *round.residual_share, ++count;
  return count > 0 ? sum / static_cast<double>(count) : -1;
}

}  // namespace

std::optional<Finding> find_growing_residual(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  const auto third = static_cast<Round>(measures.rounds() / 3);
  const double before = residual_share(input.history, measures.first, measures.first + third);
  const double after = residual_share(input.history, measures.end - third, measures.end);
  if (before < 0 || after < kResidualShareMin || after < kGrowth * before) return std::nullopt;
  Finding finding;
  finding.weight = 0.3 * after;
  finding.text = fmt::format(
      "What messages leave out grows: from {} of the energy that there was to send in the first "
      "third of the rounds to {} in the last.",
      percent_text(before), percent_text(after));
  finding.remedy = "More bytes (a longer round_time, a larger ratio), or a smaller learning rate";
  return finding;
}

}  // namespace kimesh
