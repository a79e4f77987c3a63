// The end of a run: its model file, its summary, its verdict.
#pragma once

#include <string>

#include "kimesh/mesh/mesh.h"
#include "kimesh/report/history.h"

namespace kimesh::cli {

// The first finding of the run's records, or the command that tells it, in one line. Empty: no
// round has ended.
[[nodiscard]] std::string why(RunHistory run);

// Makes the folder's model file. On failure end.model is empty and the reason is printed.
void collect(const RunFolder& folder, const Mesh& mesh, RunEnd& end);

// Writes summary.json and, when `json` names a file, the figures; prints the summary. Returns the
// exit code.
[[nodiscard]] int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
                           const std::string& json);

}  // namespace kimesh::cli
