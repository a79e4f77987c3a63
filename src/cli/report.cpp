// kimesh report RUN...: how runs went, and why rounds took as long as they did.
#include "kimesh/report/report.h"

#include <fmt/format.h>

#include "commands.h"
#include "kimesh/records/text_file.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {
namespace {

std::string report_text(const std::vector<RunReport>& reports, ReportOptions::Format format) {
  switch (format) {
    case ReportOptions::Format::kHtml:
      return report_html(reports);
    case ReportOptions::Format::kMarkdown:
      return report_markdown(reports);
    case ReportOptions::Format::kJson:
      return report_json(reports);
  }
  return {};
}

// The default place of a page: the folder of the run, or for several runs the working folder.
std::string usual_output(const ReportOptions& options) {
  return options.runs.size() == 1 ? options.runs.front() + "/report.html" : "report.html";
}

const char* ending_of(ReportOptions::Format format) {
  switch (format) {
    case ReportOptions::Format::kHtml:
      return ".html";
    case ReportOptions::Format::kMarkdown:
      return ".md";
    case ReportOptions::Format::kJson:
      return ".json";
  }
  return "";
}

Status check_place(const ReportOptions& options, const std::string& output) {
  return check_output({"--output", output, {}, options.runs, "", ending_of(options.format)});
}

void say_findings(const RunReport& report) {
  say(fmt::format("{}\n  {}", report.history.name, report.verdict));
  for (const Finding& finding : report.findings)
    if (!finding.remedy.empty()) say(fmt::format("  {:<18}{}.", finding.rule, finding.remedy));
}

}  // namespace

int report(const ReportOptions& options) {
  if (const Status place = check_place(options, options.output); !place) return fail(place.error());
  std::vector<RunReport> reports;
  for (const std::string& run : options.runs) {
    auto made = make_report(run, WhatIfUse::kAllowed);
    if (!made) return fail(made.error());
    reports.push_back(std::move(*made));
  }
  const std::string text = report_text(reports, options.format);
  const bool is_page = options.format == ReportOptions::Format::kHtml;
  if (options.output.empty() && !is_page) {
    put(text);
    return kExitDone;
  }
  const std::string output = options.output.empty() ? usual_output(options) : options.output;
  if (const Status place = check_place(options, output); !place) return fail(place.error());
  if (const Status written = write_whole(output, std::string_view(text)); !written)
    return fail(written.error());
  for (const RunReport& report : reports) say_findings(report);
  say(fmt::format("  {:<18}{}", "report", output));
  return kExitDone;
}

}  // namespace kimesh::cli
