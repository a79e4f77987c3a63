// A rate estimate far from the rate that is emulated.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kOff = 0.2;

}  // namespace

std::optional<Finding> find_wrong_rate(const FindingInput& input) {
  const auto off = [](const LinkMeasures& link) { return link.rate_off.value_or(0); };
  const auto& links = input.measures.links;
  const auto worst = std::ranges::max_element(links, {}, off);
  if (worst == links.end() || off(*worst) < kOff) return std::nullopt;
  const bool under = *worst->rate_bits_per_s < *worst->true_rate_bits_per_s;
  Finding finding;
  finding.weight = worst->busy * std::min(1.0, off(*worst)) / 2;
  finding.text =
      fmt::format("The rate of link {} is estimated {} off (median): {} in place of {}.",
                  input.link(worst->link), percent_text(off(*worst)),
                  format_rate(*worst->rate_bits_per_s), format_rate(*worst->true_rate_bits_per_s));
  finding.remedy = under ? "Messages too small to fill the link tell little of it: a longer "
                           "round_time"
                         : "A shared uplink: say it in the topology (uplink), or max_rate";
  return finding;
}

}  // namespace kimesh
