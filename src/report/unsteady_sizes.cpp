// Messages whose sizes jump from round to round: a policy that goes to and fro.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kJump = 2;             // by so much or more, up or down
constexpr double kJumpShareMin = 0.05;  // of the rounds
constexpr std::size_t kJumpRoundsMin = 20;

struct Jumps {
  NodeIndex node = 0;
  double share = 0;  // of the rounds
};

// By the bytes of all links of a node.
double share_of_jumps(const NodeHistory& node, const RunMeasures& measures) {
  double last = 0;
  std::size_t jumps = 0, rounds = 0;
  for (const RoundRecord& round : node.rounds) {
    if (round.round < measures.first || round.round >= measures.end) continue;
    double bytes = 0;
    for (const LinkRecord& link : round.links) bytes += static_cast<double>(link.bytes);
    if (last > 0 && bytes > 0 && std::abs(std::log(bytes / last)) > std::log(kJump)) ++jumps;
    last = bytes;
    ++rounds;
  }
  return rounds < kJumpRoundsMin ? 0 : static_cast<double>(jumps) / static_cast<double>(rounds);
}

}  // namespace

std::optional<Finding> find_unsteady_sizes(const FindingInput& input) {
  Jumps most;
  for (NodeIndex node = 0; node < input.history.nodes.size(); ++node) {
    const double share = share_of_jumps(input.history.nodes[node], input.measures);
    if (share > most.share) most = {node, share};
  }
  if (most.share < kJumpShareMin) return std::nullopt;
  Finding finding;
  finding.weight = most.share / 2;
  finding.text = fmt::format(
      "The policy goes to and fro: the bytes that node {} sends at least double or halve in {} of "
      "the rounds.",
      input.node(most.node), percent_text(most.share));
  const auto use = input.history.config.compression.policy->round_time_use();
  finding.remedy = use == RoundTimeUse::kChooses
                       ? "Fewer processes than cores, whose waits look like slow links, or policy: "
                         "kimad with a round_time"
                       : "A longer window (gravac), or policy: auto";
  return finding;
}

}  // namespace kimesh
