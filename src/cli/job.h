// From the paths on a command line to a mesh that is ready to run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "kimesh/mesh/mesh.h"

namespace kimesh::cli {

// Where a run goes on, its folder's copies stand for files that are not named. Errors: UserInput,
// where a file is missing on the command line, or a new folder is named for a run that has one.
[[nodiscard]] Status complete(RunOptions& options);

// Reads both files and prints every problem. Returns nothing when there was one.
[[nodiscard]] std::optional<MeshFiles> load_files(const std::string& config_path,
                                                  const std::string& topology_path);

// Checks the data, reads the model to start from, lays the plan. Errors: UserInput, Io.
[[nodiscard]] Result<std::unique_ptr<Mesh>> make_mesh(MeshFiles files);

// The number of LibTorch's threads per node when `local_nodes` nodes share this machine.
[[nodiscard]] int threads(const RunConfig& config, std::size_t local_nodes);

}  // namespace kimesh::cli
