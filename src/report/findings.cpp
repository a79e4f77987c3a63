#include "kimesh/report/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr FindingRule kRules[] = {
    {"slow-link", "a link that makes rounds long", find_slow_link},
    {"idle-rounds", "rounds that neither gradients nor links fill", find_idle_rounds},
    {"compute-bound", "rounds that gradients fill: slow links do not matter", find_compute_bound},
    {"straggler", "a node whose gradients the others wait for", find_straggler},
    {"missed-round-time", "rounds longer than round_time", find_missed_round_time},
    {"costly-coding", "compression that takes longer than what it saves", find_costly_coding},
    {"wrong-rate", "a rate estimate far from the emulated rate", find_wrong_rate},
    {"growing-residual", "a residual that grows", find_growing_residual},
    {"starved-layer", "a layer of which next to nothing is sent", find_starved_layer},
    {"other-joins", "joins of the same nodes with shorter rounds", find_other_joins},
    {"unsteady-sizes", "messages whose sizes jump from round to round", find_unsteady_sizes},
};

}  // namespace

std::span<const FindingRule> finding_rules() {
  return kRules;
}

std::string FindingInput::link(LinkIndex index) const {
  const auto [from, to] = history.plan.links[index];
  return node(from) + "->" + node(to);
}

std::string percent_text(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.01 ? 2 : share < 0.1 ? 1 : 0);
}

Busiest busiest_link(const RunMeasures& measures) {
  Busiest busiest;
  std::vector<double> others;
  for (const LinkMeasures& link : measures.links)
    if (link.busy > busiest.busy) busiest = {link.link, link.busy, {}};
  for (const LinkMeasures& link : measures.links)
    if (link.link != busiest.link && link.rounds > 0) others.push_back(link.busy);
  if (others.empty()) return busiest;
  busiest.others = spread_of(std::move(others)).p50;
  return busiest;
}

std::vector<Finding> find_all(const FindingInput& input) {
  std::vector<Finding> findings;
  for (const FindingRule& rule : kRules) {
    auto finding = rule.look(input);
    if (!finding) continue;
    finding->rule = rule.name;
    findings.push_back(std::move(*finding));
  }
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::weight);
  return findings;
}

std::string verdict(const RunMeasures& measures, std::span<const Finding> findings) {
  if (!findings.empty()) {
    const std::string& text = findings.front().text;
    const std::size_t end = text.find(". ");
    return end == std::string::npos ? text : text.substr(0, end + 1);
  }
  return fmt::format("Nothing stands out: a round takes {}, the longest gradient {} of it.",
                     seconds_text(measures.mean_round_s), percent_text(measures.compute_share()));
}

}  // namespace kimesh
