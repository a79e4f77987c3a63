// What a run's folder gets at its end: the model, the summary, the figures.
#pragma once

#include <string>

#include "kimesh/records/run_folder.h"
#include "kimesh/records/summary.h"

namespace kimesh::cli {

[[nodiscard]] bool owns_shards(const Plan& plan, NodeIndex node);

// Puts together what the node records say about the end of the mesh: failed if one failed, else
// stopped if one was stopped, done if all are.
[[nodiscard]] RunEnd end_of_mesh(const RunTally& tally);

// Makes model.safetensors of what the nodes left: after a normal end their models, which must be
// equal (else `end` becomes a failure that names the nodes), else the owners' shards. Where that
// cannot be, end.model stays empty and the reason is said. `frozen` is part of the model file, not
// of end.model.
void collect_model(const RunFolder& folder, const Plan& plan, const NamedValues& frozen,
                   RunEnd& end);

// Writes summary.json and, when `json` names a file, the figures; prints the summary. Returns the
// exit code.
[[nodiscard]] int conclude(const RunFolder& folder, const RunTally& tally, const RunEnd& end,
                           const std::string& json);

}  // namespace kimesh::cli
