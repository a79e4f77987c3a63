// From the paths on a command line to a mesh that is ready to run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {

// Says every problem of both files, each on its line. Nothing: there was one.
[[nodiscard]] std::optional<MeshFiles> load_files(const std::string& config_path,
                                                  const std::string& topology_path);

// Looks at the data, reads a model to start from, lays the plan. Errors: UserInput, Io.
[[nodiscard]] Result<std::unique_ptr<Mesh>> make_mesh(MeshFiles files);

// LibTorch's threads per node when `local_nodes` share this machine.
[[nodiscard]] int threads(const RunConfig& config, std::size_t local_nodes);

}  // namespace kimesh::cli
