#include "ending.h"

#include <fmt/format.h>

#include "commands.h"
#include "kimesh/records/text_file.h"
#include "kimesh/report/report.h"
#include "say.h"

namespace kimesh::cli {

std::string why(RunHistory run) {
  const auto verdict = quick_verdict(std::move(run));
  return verdict ? *verdict : "";
}

bool collect(const RunFolder& folder, const Mesh& mesh, RunEnd& end) {
  const Status collected = collect_model(folder, mesh, end);
  if (!collected) complain("there is no model of this run: " + collected.error().message + ".");
  return collected.ok();
}

int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
             const std::string& json, bool kept) {
  const int failed = end.reason == StopReason::kPermanent ? kExitPermanent : kExitFailed;
  int code = end.outcome == Outcome::kFailed ? failed : kept ? kExitDone : kExitFailed;
  const auto write = [&](const std::string& path, const std::string& text) {
    const Status written = write_whole(path, std::string_view(text));
    if (written.ok()) return;
    complain(written.error().message);
    code = kExitFailed;
  };
  put("\n" + summary_text(tally, end));
  auto run = load_run(folder.path());
  if (const std::string reason = run ? why(std::move(*run)) : ""; !reason.empty())
    say(fmt::format("  {:<14}{}", "verdict", reason));
  say(fmt::format("  {:<14}{}", "run folder", folder.path()));
  write(folder.summary(), summary_json(tally, end));
  if (!json.empty()) write(json, figures_json(figures_of(tally, end)));
  return code;
}

}  // namespace kimesh::cli
