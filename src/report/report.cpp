#include "kimesh/report/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "kimesh/records/run_folder.h"

namespace kimesh {

namespace {

Result<RunReport> report_of(RunHistory history, WhatIfUse use) {
  auto measures = measure(history);
  if (!measures)
    return Error{ErrorCode::kUserInput,
                 fmt::format("no round of {} was recorded by all its nodes. Where they ran on "
                             "machines of their own, put their files into one folder",
                             history.folder)};
  RunReport report{std::move(history), std::move(*measures), {}, {}, {}};
  std::unique_ptr<WhatIf> what_if;
  if (use == WhatIfUse::kAllowed) {
    what_if = std::make_unique<WhatIf>(report.history, report.measures);
    report.no_what_if = what_if->trouble();
  }
  report.findings = find_all({report.history, report.measures, what_if.get()});
  report.verdict = verdict(report.measures, report.findings);
  return report;
}

std::uintmax_t bytes_of_records(const RunHistory& run) {
  const RunFolder folder(run.folder);
  std::uintmax_t bytes = 0;
  for (const std::string& node : run.plan.view.nodes)
    for (const std::string& path : {folder.events(node), folder.earlier_events(node)}) {
      std::error_code absent;
      const auto size = std::filesystem::file_size(path, absent);
      bytes += absent ? 0 : size;
    }
  return bytes;
}

}  // namespace

Result<RunReport> make_report(const std::string& folder, WhatIfUse use) {
  auto history = load_history(folder);
  if (!history) return history.error();
  return report_of(std::move(*history), use);
}

Result<std::string> quick_verdict(RunHistory run, std::uintmax_t bytes_max) {
  if (bytes_of_records(run) > bytes_max) return command_that_tells(run.folder);
  auto history = load_records(std::move(run));
  if (!history) return history.error();
  auto report = report_of(std::move(*history), WhatIfUse::kNever);
  if (!report) return report.error();
  return std::move(report->verdict);
}

std::string command_that_tells(const std::string& folder) {
  return "`kimesh report " + folder + "` tells";
}

std::string nodes_without_file(const RunReport& report) {
  std::string names;
  for (NodeIndex node = 0; node < report.measures.nodes.size(); ++node)
    if (report.measures.nodes[node].rounds == 0)
      names += (names.empty() ? "" : ", ") + report.history.plan.view.nodes[node];
  return names;
}

}  // namespace kimesh
