#include "kimesh/report/report.h"

#include <fmt/format.h>

#include <memory>

namespace kimesh {

Result<RunReport> make_report(const std::string& folder, WhatIfUse use) {
  auto history = load_history(folder);
  if (!history) return history.error();
  auto measures = measure(*history);
  if (!measures)
    return Error{ErrorCode::kUserInput,
                 fmt::format("no round of {} was recorded by all its nodes. Where they ran on "
                             "machines of their own, put their files into one folder",
                             folder)};
  RunReport report{std::move(*history), std::move(*measures), {}, {}, {}};
  std::unique_ptr<WhatIf> what_if;
  if (use == WhatIfUse::kAllowed) {
    what_if = std::make_unique<WhatIf>(report.history, report.measures);
    report.no_what_if = what_if->trouble();
  }
  report.findings = find_all({report.history, report.measures, what_if.get()});
  report.verdict = verdict(report.measures, report.findings);
  return report;
}

std::string nodes_without_file(const RunReport& report) {
  std::string names;
  for (NodeIndex node = 0; node < report.measures.nodes.size(); ++node)
    if (report.measures.nodes[node].rounds == 0)
      names += (names.empty() ? "" : ", ") + report.history.plan.view.nodes[node];
  return names;
}

}  // namespace kimesh
