#include "ending.h"

#include <fmt/format.h>

#include "commands.h"
#include "kimesh/records/text_file.h"
#include "say.h"

namespace kimesh::cli {

void collect(const RunFolder& folder, const Mesh& mesh, RunEnd& end) {
  const Status collected = collect_model(folder, mesh, end);
  if (!collected) complain("there is no model of this run: " + collected.error().message + ".");
}

int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
             const std::string& json) {
  int code = end.outcome == Outcome::kFailed ? kExitFailed : kExitDone;
  const auto write = [&](const std::string& path, const std::string& text) {
    const Status written = write_whole(path, std::string_view(text));
    if (written.ok()) return;
    complain(written.error().message);
    code = kExitFailed;
  };
  put("\n" + summary_text(tally, end));
  say(fmt::format("  {:<14}{}", "run folder", folder.path()));
  write(folder.summary(), summary_json(tally, end));
  if (!json.empty()) write(json, figures_json(figures_of(tally, end)));
  return code;
}

}  // namespace kimesh::cli
