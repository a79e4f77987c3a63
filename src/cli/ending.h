// The end of a run: its model file, its summary, its verdict.
#pragma once

#include <string>

#include "kimesh/mesh/mesh.h"
#include "kimesh/report/history.h"

namespace kimesh::cli {

// The first finding of the run's records, or the command that tells it, in one line. Empty: no
// round has ended.
[[nodiscard]] std::string why(RunHistory run);

// Makes the folder's model file. False: end.model is empty and the reason is printed.
[[nodiscard]] bool collect(const RunFolder& folder, const Mesh& mesh, RunEnd& end);

// Writes summary.json and, when `json` names a file, the figures; prints the summary. Returns the
// exit code. `kept`: all that the run leaves is in the folder; else that is a failure.
[[nodiscard]] int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
                           const std::string& json, bool kept);

}  // namespace kimesh::cli
