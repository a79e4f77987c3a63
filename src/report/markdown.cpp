// The report as text for people.
#include <fmt/format.h>

#include "kimesh/report/report.h"
#include "kimesh/util/units.h"
#include "rules.h"

namespace kimesh {
namespace {

std::string rate_text(const std::optional<double>& rate) {
  return rate ? format_rate(*rate) : "?";
}
std::string share_text(const std::optional<double>& share) {
  return share ? percent_text(*share) : "";
}

std::string findings_text(const RunReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += fmt::format("- **{}**: {}", finding.rule, finding.text);
    if (!finding.remedy.empty()) text += fmt::format(" *Try:* {}.", finding.remedy);
    text += "\n";
  }
  if (report.findings.empty()) text += report.verdict + "\n";
  if (!report.no_what_if.empty())
    text += fmt::format("\nOther meshes were not simulated: {}.\n", report.no_what_if);
  return text;
}

std::string nodes_text(const RunReport& report) {
  std::string text =
      "| node | gradient p50 | p95 | compute | encode | apply | step | wire | wait |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (NodeIndex i = 0; i < report.measures.nodes.size(); ++i) {
    const NodeMeasures& node = report.measures.nodes[i];
    if (node.rounds == 0) continue;
    const TimeSplit& split = node.split;
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", report.history.plan.view.nodes[i],
        seconds_text(node.gradient_s.p50), seconds_text(node.gradient_s.p95),
        seconds_text(split.compute_s), seconds_text(split.encode_s), seconds_text(split.apply_s),
        seconds_text(split.step_s), seconds_text(split.wire_s), seconds_text(split.wait_s));
  }
  return text;
}

std::string links_text(const RunReport& report) {
  std::string text =
      "| link | rate | true | busy | bytes | dense | saved | reduces carry | gathers carry |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  const FindingInput names{report.history, report.measures, nullptr};
  for (const LinkMeasures& link : report.measures.links) {
    if (link.rounds == 0) continue;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", names.link(link.link),
                        rate_text(link.rate_bits_per_s),
                        link.true_rate_bits_per_s ? format_rate(*link.true_rate_bits_per_s) : "",
                        percent_text(link.busy), format_bytes(link.bytes),
                        link.dense_bytes > 0 ? format_bytes(link.dense_bytes) : "?",
                        link.saved_s ? seconds_text(std::max(0.0, *link.saved_s)) : "",
                        share_text(link.reduce_contraction), share_text(link.gather_contraction));
  }
  return text;
}

std::string head_text(const RunReport& report) {
  const RunHistory& history = report.history;
  const NodeHistory& node = history.nodes[history.furthest()];
  const std::string end = node.end ? outcome_name(node.end->outcome) : "no end is recorded";
  std::string text =
      fmt::format("# {}\n\n{}, {} rounds, {} nodes, {}, policy {}", history.name, end, node.trained,
                  history.nodes.size(), history.topology.kind->kind_name(),
                  history.config.compression.policy->kind_name());
  if (!node.evaluations.empty())
    text += fmt::format(", accuracy {:.4f}", node.evaluations.back().accuracy);
  const std::string missing = nodes_without_file(report);
  if (!missing.empty())
    text += fmt::format(
        "\n\nThe folder holds no records of {}: all figures are those of the other nodes", missing);
  return text +
         fmt::format(
             "\n\nMeasured over rounds {} to {}: a round takes {} (median; p95 {}; mean {}), "
             "the longest gradient {} of the mean. All figures are of one round.\n",
             report.measures.first, report.measures.end - 1,
             seconds_text(report.measures.round_s.p50), seconds_text(report.measures.round_s.p95),
             seconds_text(report.measures.mean_round_s),
             percent_text(report.measures.compute_share()));
}

}  // namespace

std::string report_markdown(std::span<const RunReport> reports) {
  std::string text;
  for (const RunReport& report : reports)
    text += (text.empty() ? "" : "\n") + head_text(report) + "\n## Findings\n\n" +
            findings_text(report) + "\n## Nodes\n\n" + nodes_text(report) + "\n## Links\n\n" +
            links_text(report);
  return text;
}

}  // namespace kimesh
