// kimesh plan TOPOLOGY --config CONFIG --suggest FILE: the joins that give the shortest round.
#pragma once

#include "commands.h"
#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {

// Compares rings, trees and parameter servers of the topology's nodes, prints what they would take,
// and writes the best as a topology file. Returns the exit code.
[[nodiscard]] int suggest_joins(const Mesh& mesh, const PlanOptions& options,
                                const SimulatedCosts& costs);

}  // namespace kimesh::cli
