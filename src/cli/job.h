// From the paths on a command line to a mesh that is ready to run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/report/history.h"

namespace kimesh::cli {

// Fills in the files that a run which goes on does not name: the copies in its folder. Errors:
// UserInput, where a file is missing on the command line, or a new folder is named for such a run.
[[nodiscard]] Status complete(RunOptions& options);
// The error where both --run and --resume were given, and no other topology.
[[nodiscard]] Error one_folder();

// What missing_files() finds, but for a library, which tells by itself what it lacks.
[[nodiscard]] std::vector<Problem> lacking_files(const RunConfig& config);

// Tells people what a run keeps and what it drops when it goes on under another topology.
[[nodiscard]] std::string text_of(const CarriedOver& carried, const std::string& topology);

// Whether these files will be there for a second reader: a pipe has nothing left for it. Prints
// which will not; what is missing is the loaders' to say.
[[nodiscard]] bool can_be_read_again(const std::vector<std::string>& files);
// Reads both files (as load_mesh_files) and prints every problem. Returns nothing when there was
// one.
[[nodiscard]] std::optional<MeshFiles> load_files(const std::string& config_path,
                                                  const std::string& topology_path,
                                                  const std::string& config_copied_from = {});
// The same for files that will be copied, as into a run's folder.
[[nodiscard]] std::optional<MeshFiles> load_copied_files(
    const std::string& config_path, const std::string& topology_path,
    const std::string& config_copied_from = {});

// Reads a topology and prints every problem. Returns nothing when there was one.
[[nodiscard]] std::optional<TopologyFile> load_topology_alone(const std::string& path);
// The plan of a topology without a model: its links and trees, not the sizes of its shards.
[[nodiscard]] Result<Plan> plan_without_sizes(const TopologyFile& topology);
// Says which names there are, and returns nothing, where there is no node of that name.
[[nodiscard]] std::optional<NodeIndex> find_node(const TopologyFile& topology,
                                                 const std::string& name);
// Puts the folder of keys that the user gave in place of the topology's, reads the keys of these
// nodes, and says what a topology without encryption gives up. False: it has printed what is wrong.
[[nodiscard]] bool check_security(TopologyFile& topology, const std::string& keys,
                                  std::span<const NodeIndex> nodes);

// Checks the data, reads the model to start from, lays the plan. Errors: UserInput, Io.
[[nodiscard]] Result<std::unique_ptr<Mesh>> make_mesh(MeshFiles files);

// Refuses a config whose objective another program brings. Errors: UserInput.
[[nodiscard]] Status has_objective(const MeshFiles& files);

// What is known of a run before it has records. Each machine may have a folder of its own.
[[nodiscard]] RunHistory run_of(const Mesh& mesh, const RunFolder& folder);

// The number of LibTorch's threads per node when `local_nodes` nodes share this machine.
[[nodiscard]] int threads(const RunConfig& config, std::size_t local_nodes);
// Where the config asks for a GPU: makes LibTorch compute there, or says why gradients are computed
// on the CPU. Call before make_mesh.
void load_gpu(const RunConfig& config);

}  // namespace kimesh::cli
