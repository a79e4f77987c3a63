#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "kimesh/kernels/memory.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/objective/quadratic.h"
#include "kimesh/train/trainer.h"
#include "kimesh/train/training_mesh.h"
#include "say.h"

namespace kimesh::cli {
Error one_folder() {
  return {ErrorCode::kUserInput,
          "--run names a new folder and --resume one that is there: write one of them, or another "
          "--topology besides"};
}

std::vector<Problem> lacking_files(const RunConfig& config) {
  return config.plugin() != nullptr ? std::vector<Problem>{} : missing_files(config);
}

std::string text_of(const CarriedOver& carried, const std::string& topology) {
  std::string text = fmt::format("the run goes on under {} in {} from its checkpoint of round {}\n",
                                 topology, carried.folder.path(), carried.round);
  text +=
      "kept: parameters, what the optimizer has learnt, round, schedule and counters; begun anew: "
      "estimates and residuals of channels, rates of links, what the policy has learnt";
  if (!carried.lost.empty())
    text += fmt::format("\nno checkpoint is there of {}: its shards are other nodes' copies",
                        fmt::join(carried.lost, ", "));
  if (carried.loses_moments) text += ", and the optimizer's moments begin anew";
  return text;
}

Status complete(RunOptions& options) {
  if (!options.resume.empty()) {
    const RunFolder folder(options.resume);
    const bool has_topology = !options.topology.empty();  // it says where its keys are
    if (options.config.empty()) {
      options.config = folder.config();
      options.config_copied_from = folder.given_config();
    }
    if (!has_topology) options.topology = folder.topology();
    if (options.keys.empty() && !has_topology) options.keys = folder.keys_folder();
    return options.run.empty() || has_topology ? ok_status() : Status(one_folder());
  }
  if (!options.config.empty() && !options.topology.empty()) return ok_status();
  return Error{ErrorCode::kUserInput,
               "--config and --topology are required, or --resume with the folder of a run"};
}

bool can_be_read_again(const std::vector<std::string>& files) {
  bool can = true;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (!std::filesystem::is_other(std::filesystem::status(file, unknown))) continue;
    complain(file +
             " is no regular file, and its text is wanted a second time. Write it to a file, "
             "and name that.");
    can = false;
  }
  return can;
}

std::optional<MeshFiles> load_files(const std::string& config_path,
                                    const std::string& topology_path,
                                    const std::string& config_copied_from) {
  Loaded<MeshFiles> files = load_mesh_files(config_path, topology_path, config_copied_from);
  for (const Problem& problem : files.problems) complain(to_string(problem));
  if (!files.ok()) return std::nullopt;
  return std::move(files.value);
}

std::optional<MeshFiles> load_copied_files(const std::string& config_path,
                                           const std::string& topology_path,
                                           const std::string& config_copied_from) {
  if (!can_be_read_again({config_path, topology_path})) return std::nullopt;
  return load_files(config_path, topology_path, config_copied_from);
}

std::optional<TopologyFile> load_topology_alone(const std::string& path) {
  Loaded<TopologyFile> topology = load_topology(path);
  for (const Problem& problem : topology.problems) complain(to_string(problem));
  if (!topology.ok()) return std::nullopt;
  return std::move(topology.value);
}

Result<Plan> plan_without_sizes(const TopologyFile& topology) {
  constexpr std::size_t kStandInRows = kNodesMax;  // enough for the shards of any topology
  return make_plan(topology, Layout::vector(kStandInRows));
}

std::optional<NodeIndex> find_node(const TopologyFile& topology, const std::string& name) {
  if (const auto node = topology.find_node(name)) return node;
  std::vector<std::string> names;
  for (const NodeSpec& node : topology.nodes) names.push_back(node.name);
  complain(fmt::format("the topology has no node '{}'. Write one of: {}.", name,
                       fmt::join(names, ", ")));
  return std::nullopt;
}

bool check_security(TopologyFile& topology, const std::string& keys,
                    std::span<const NodeIndex> nodes) {
  if (!keys.empty()) topology.keys_folder = keys;
  if (const std::string notice = security_notice(topology); !notice.empty()) complain(notice + ".");
  for (const NodeIndex node : nodes)
    if (const auto loaded = load_keys(topology, node); !loaded) {
      complain(loaded.error().message);
      return false;
    }
  return true;
}

namespace {

Result<std::unique_ptr<MeshObjective>> make_objective(const RunConfig& config, std::size_t nodes,
                                                      std::span<const double> weights) {
  if (config.quadratic) return make_quadratic_mesh(*config.quadratic, nodes, weights, config.seed);
  if (const PluginOptions* plugin = config.plugin())
    return make_plugin_mesh({*plugin, config.places, shares_of_weights(weights, nodes), config.seed,
                             config.own_objective});
  return make_training_mesh(config, nodes, weights, say);
}

Status have_files(const RunConfig& config) {
  std::vector<std::string> sentences;
  for (const Problem& missing : lacking_files(config)) sentences.push_back(to_string(missing));
  if (sentences.empty()) return ok_status();
  return Error{ErrorCode::kUserInput, fmt::format("{}", fmt::join(sentences, "\n"))};
}

}  // namespace

Status has_objective(const MeshFiles& files) {
  if (!files.config.own_objective || files.config.model.kind != nullptr) return ok_status();
  return Error{ErrorCode::kUserInput,
               files.config_path +
                   ": objective: own belongs to a program that uses kimesh as a library; run that "
                   "program, or add model and data, which this one brings then"};
}

Result<std::unique_ptr<Mesh>> make_mesh(MeshFiles files) {
  const RunConfig& config = files.config;
  if (const Status brought = has_objective(files); !brought) return brought.error();
  if (const Status there = have_files(config); !there) return there.error();
  const std::size_t nodes = files.topology.nodes.size();
  std::vector<double> weights = declared_weights(files.topology);
  // What other programs learn from is not known here.
  if (config.own_objective) weights = shares_of_weights(weights, nodes);
  auto objective = make_objective(config, nodes, weights);
  if (!objective) return objective.error();
  return Mesh::make(std::move(files), std::move(*objective));
}

RunHistory run_of(const Mesh& mesh, const RunFolder& folder) {
  const auto path = std::filesystem::path(folder.path()).lexically_normal();
  const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return {folder.path(), name.string(), mesh.config(), mesh.topology(), true, mesh.plan(), {}};
}

int threads(const RunConfig& config, std::size_t local_nodes) {
  if (config.threads > 0) return config.threads;
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  return std::max(1, static_cast<int>(cores / std::max<std::size_t>(1, local_nodes)));
}

void load_gpu(const RunConfig& config) {
  if (config.device != DeviceKind::kCuda || config.quadratic) return;
  if (!kernels::open_cuda()) return;  // check_device says what is missing
  const auto stays = [](const std::string& why) {
    complain("gradients are computed on the CPU: " + why);
  };
  if (config.plugin() != nullptr) return stays("a plugin computes them");
  if (config.model.kind == nullptr) return;  // a program brings the objective
  if (!config.model.kind->suits_gpus())
    return stays("a script may hold values that stay where it was traced");
  if (const Status gpu = use_gpu_for_training(); !gpu)
    stays(gpu.error().message +
          ". Build with the LibTorch of a PyTorch for CUDA: README, On a GPU");
}

}  // namespace kimesh::cli
