#include "job.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "kimesh/objective/quadratic.h"
#include "kimesh/train/training_mesh.h"
#include "say.h"

namespace kimesh::cli {

Status complete(RunOptions& options) {
  if (!options.resume.empty()) {
    const RunFolder folder(options.resume);
    if (options.config.empty()) options.config = folder.config();
    if (options.topology.empty()) options.topology = folder.topology();
    if (options.run.empty()) return ok_status();
    return Error{ErrorCode::kUserInput,
                 "--run names a new folder and --resume one that is there: "
                 "write one of them"};
  }
  if (!options.config.empty() && !options.topology.empty()) return ok_status();
  return Error{ErrorCode::kUserInput,
               "--config and --topology are required, or --resume with the folder of a run"};
}

std::optional<MeshFiles> load_files(const std::string& config_path,
                                    const std::string& topology_path) {
  Loaded<MeshFiles> files = load_mesh_files(config_path, topology_path);
  for (const Problem& problem : files.problems) complain(to_string(problem));
  if (!files.ok()) return std::nullopt;
  return std::move(files.value);
}

Result<std::unique_ptr<Mesh>> make_mesh(MeshFiles files) {
  const RunConfig& config = files.config;
  if (config.own_objective)
    return Error{
        ErrorCode::kUserInput,
        files.config_path +
            ": objective: own belongs to a program that uses kimesh as a library; run that "
            "program, or write model and data"};
  const std::size_t nodes = files.topology.nodes.size();
  const std::vector<double> weights = declared_weights(files.topology);
  auto objective = config.quadratic
                       ? make_quadratic_mesh(*config.quadratic, nodes, weights, config.seed)
                       : make_training_mesh(config, nodes, weights, say);
  if (!objective) return objective.error();
  return Mesh::make(std::move(files), std::move(*objective));
}

int threads(const RunConfig& config, std::size_t local_nodes) {
  if (config.threads > 0) return config.threads;
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  return std::max(1, static_cast<int>(cores / std::max<std::size_t>(1, local_nodes)));
}

}  // namespace kimesh::cli
