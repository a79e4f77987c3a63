#include "ending.h"

#include <fmt/format.h>

#include <filesystem>

#include "commands.h"
#include "kimesh/records/text_file.h"
#include "kimesh/report/report.h"
#include "say.h"

namespace kimesh::cli {

namespace {

// Records up to this size are read in about a second. A run that ends waits no longer for a report.
constexpr std::uintmax_t kQuickBytesMax = 64 << 20;

// The first finding of the run's report, or the command that tells it. Empty: no round has ended.
std::string why(const RunFolder& folder, const RunTally& tally) {
  std::uintmax_t bytes = 0;
  for (const std::string& node : tally.plan().view.nodes) {
    std::error_code code;
    const auto size = std::filesystem::file_size(folder.events(node), code);
    bytes += code ? 0 : size;
  }
  if (bytes > kQuickBytesMax) return "`kimesh report " + folder.path() + "` tells";
  const auto report = make_report(folder.path(), WhatIfUse::kNever);
  return report ? report->verdict : "";
}

}  // namespace

void collect(const RunFolder& folder, const Mesh& mesh, RunEnd& end) {
  const Status collected = collect_model(folder, mesh, end);
  if (!collected) complain("there is no model of this run: " + collected.error().message + ".");
}

int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
             const std::string& json) {
  const int failed = end.reason == StopReason::kPermanent ? kExitPermanent : kExitFailed;
  int code = end.outcome == Outcome::kFailed ? failed : kExitDone;
  const auto write = [&](const std::string& path, const std::string& text) {
    const Status written = write_whole(path, std::string_view(text));
    if (written.ok()) return;
    complain(written.error().message);
    code = kExitFailed;
  };
  put("\n" + summary_text(tally, end));
  if (const std::string reason = why(folder, tally); !reason.empty())
    say(fmt::format("  {:<14}{}", "verdict", reason));
  say(fmt::format("  {:<14}{}", "run folder", folder.path()));
  write(folder.summary(), summary_json(tally, end));
  if (!json.empty()) write(json, figures_json(figures_of(tally, end)));
  return code;
}

}  // namespace kimesh::cli
