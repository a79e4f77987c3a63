// The LibTorch model of a config, on its data, for a whole mesh.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kimesh/objective/mesh_objective.h"
#include "kimesh/run/run_config.h"

namespace kimesh {

// Looks at the data, divides it among the nodes and reads the model file that the run starts from,
// where the config names one. `declared_weights` holds data_weight of every node, or is empty.
// `tell` gets a sentence when the model file holds tensors that the model has no use for. Errors:
// UserInput, Io.
[[nodiscard]] Result<std::unique_ptr<MeshObjective>> make_training_mesh(
    const RunConfig& config, std::size_t nodes, std::span<const double> declared_weights,
    const std::function<void(const std::string&)>& tell = {});

}  // namespace kimesh
