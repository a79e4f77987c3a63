#include "kimesh/mesh/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absolute_path.h"
#include "kimesh/run/check_together.h"
#include "kimesh/run/options.h"
#include "kimesh/util/digest.h"
#include "version.h"

namespace kimesh {
namespace {

std::string joined(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "\n") + to_string(problem);
  return text;
}

// Whoever makes a plan of the layout cuts it between rows of values.
Status check_layout(const Layout& layout) {
  if (layout.layers.empty())
    return Error{ErrorCode::kUserInput, "there are no parameters to train: give one at least."};
  std::string text;
  for (const LayoutLayer& layer : layout.layers)
    if (layer.size == 0)
      text += fmt::format("{}layer '{}' has shape [{}], and so no value: leave it out.",
                          text.empty() ? "" : "\n", layer.name, fmt::join(layer.shape, ", "));
  return text.empty() ? ok_status() : Error{ErrorCode::kUserInput, text};
}

// An error about the nodes that serve, with the place that names them.
Error at_servers(const Error& error, const MeshFiles& files) {
  const Places& places = files.topology.places;
  const int line = places.line(places.is_given("servers") ? "servers" : "nodes");
  if (files.topology_path.empty() || line == 0) return error;
  return {error.code, fmt::format("{}:{}: {}", files.topology_path, line, error.message)};
}

}  // namespace

std::vector<double> declared_weights(const TopologyFile& topology) {
  std::vector<double> weights;
  for (const NodeSpec& node : topology.nodes)
    if (node.data_weight) weights.push_back(*node.data_weight);
  return weights;
}

Loaded<MeshFiles> load_mesh_files(const std::string& config_path, const std::string& topology_path,
                                  const std::string& config_copied_from) {
  Loaded<RunConfig> config = load_config(config_path, config_copied_from);
  Loaded<TopologyFile> topology = load_topology(topology_path);
  Loaded<MeshFiles> files;
  files.problems = config.problems;
  files.problems.insert(files.problems.end(), topology.problems.begin(), topology.problems.end());
  if (files.problems.empty())
    files.problems = check_together(config.value, config_path, topology.value);
  files.value = {std::move(config.value), std::move(topology.value), config_path, topology_path,
                 config_copied_from};
  return files;
}

Mesh::Mesh(MeshFiles files, std::unique_ptr<MeshObjective> objective)
    : files_(std::move(files)), objective_(std::move(objective)) {}
Mesh::~Mesh() = default;

Result<std::unique_ptr<Mesh>> Mesh::make(MeshFiles files,
                                         std::unique_ptr<MeshObjective> objective) {
  const std::vector<Problem> problems =
      check_together(files.config, files.config_path, files.topology);
  if (!problems.empty()) return Error{ErrorCode::kUserInput, joined(problems)};
  if ((files.config.stop.accuracy || files.config.stop.loss) && !objective->has_test_set())
    return Error{ErrorCode::kUserInput, files.config_path +
                                            ": stop: accuracy and loss are of a test set, and this "
                                            "objective has none. Write stop: {rounds: 1000}."};
  if (const Status whole = check_layout(objective->layout()); !whole) return whole.error();
  KIMESH_CHECK(objective->weights().size() == files.topology.nodes.size(), "one weight a node");
  std::unique_ptr<Mesh> mesh(new Mesh(std::move(files), std::move(objective)));
  auto plan =
      make_plan(mesh->topology(), mesh->objective().layout(), shard_elements_max(mesh->config()));
  if (!plan) return at_servers(plan.error(), mesh->files_);
  mesh->plan_ = std::make_shared<Plan>(std::move(*plan));
  if (mesh->config().optimizer.lr_is_theory) {
    const std::optional<Smoothness> smoothness = mesh->objective().smoothness();
    if (!smoothness)
      return Error{ErrorCode::kUserInput, mesh->files_.config_path +
                                              ": lr: theory asks for the smoothness of what is "
                                              "minimised, which is not known. Write a number."};
    mesh->files_.config.optimizer.lr =
        theory_learning_rate(mesh->config(), *smoothness, *mesh->plan_);
  }
  const Status enough = check_traffic(mesh->config(), mesh->topology(), *mesh->plan_);
  if (!enough)
    return Error{enough.error().code, mesh->files_.topology_path + ":" + enough.error().message};
  return mesh;
}

Status Mesh::check_device() const {
  VectorsOptions closed_again;
  return open_device(closed_again);
}

Status Mesh::open_device(VectorsOptions& options) const {
  if (config().device == DeviceKind::kCpu || options.memory) return ok_status();
  const Status opened = use_gpu(options);
  if (opened) return opened;
  return Error{
      ErrorCode::kUserInput,
      fmt::format("{}:{}: device: cuda asks for a GPU, but there is {}", files_.config_path,
                  config().places.line("device"), opened.error().message)};
}

std::uint64_t Mesh::config_digest() const {
  std::string text = config().canonical() + objective_->canonical();
  const NamedValues& frozen = objective_->frozen();
  if (!frozen.values.empty()) text += digest_name(digest_floats(frozen.values));
  return digest_text(text);
}

std::string Mesh::settings() const {
  return digest_name(
      digest_text(config().canonical(PathsInText::kWritten) + topology().canonical()));
}

std::uint64_t Mesh::digest() const {
  return digest_text(digest_name(config_digest()) + topology().canonical());
}

CheckpointOwner Mesh::checkpoint_owner(NodeIndex node) const {
  return {std::string(version()), plan_->view.nodes[node], config_digest(),
          digest_text(topology().canonical())};
}

std::vector<CheckpointPlace> Mesh::checkpoint_places(const RunFolder& folder) const {
  std::vector<CheckpointPlace> places;
  for (NodeIndex node = 0; node < nodes(); ++node)
    places.push_back({folder.checkpoints(plan_->view.nodes[node]), checkpoint_owner(node)});
  return places;
}

Result<Round> Mesh::common_checkpoint(const RunFolder& folder) const {
  for (const std::string& name : plan_->view.nodes)
    if (checkpoint_rounds(folder.checkpoints(name)).empty())
      return Error{ErrorCode::kUserInput,
                   fmt::format("{} has no checkpoint of node {}: there is nothing to go on from",
                               folder.path(), name)};
  const auto common = kimesh::common_checkpoint(checkpoint_places(folder));
  if (!common) return common.error();
  if (*common) return **common;
  return Error{ErrorCode::kUserInput,
               folder.path() +
                   " has no checkpoint that is sound at all nodes: there is nothing to "
                   "go on from"};
}

NewRunFolder new_run_folder(const std::string& path) {
  std::filesystem::path whole = absolute_path(path);
  if (!whole.has_filename()) whole = whole.parent_path();  // "runs/x/"
  return {whole.filename().string(), whole.parent_path().string()};
}

RunFolderRequest Mesh::folder_request(const NewRunFolder& wanted) const {
  RunFolderRequest request;
  request.parent = wanted.parent;
  request.name = wanted.name;
  request.after = wanted.after;
  request.config_path = files_.config_path;
  request.topology_path = files_.topology_path;
  request.topology_files = topology().traces;
  if (config().quadratic && !config().quadratic->path.empty()) {
    const auto beside = std::filesystem::path(files_.config_path).parent_path();
    request.config_files.push_back(
        std::filesystem::path(config().quadratic->path).lexically_proximate(beside).string());
  }
  return request;
}

RunInfo Mesh::run_info(const NewRunFolder& wanted, const std::vector<std::string>& command) const {
  RunInfo info{
      .command = command,
      .version = std::string(version()),
      .build = build_text(),
      .environment = objective_->environment(),
      .started = date_and_time(),
      .seed = config().seed,
      .config_path = absolute_path(files_.config_copied_from.empty() ? files_.config_path
                                                                     : files_.config_copied_from),
      .topology_path = absolute_path(files_.topology_path),
      .nodes = plan_->view.nodes,
      .layout = plan_->layout,
      .learning_rate = config().optimizer.lr,
      .settings = settings(),
      .keys_folder = {},
      .after = wanted.after};
  if (topology().is_encrypted()) info.keys_folder = absolute_path(topology().keys_folder);
  return info;
}

Result<RunFolder> Mesh::make_folder(const NewRunFolder& wanted,
                                    const std::vector<std::string>& command) const {
  auto folder = RunFolder::create(folder_request(wanted));
  if (!folder) return folder;
  const Status written = folder->write_info(run_info(wanted, command));
  return written ? folder : written.error();
}

Result<RunFolder> Mesh::share_folder(const std::string& path,
                                     const std::vector<std::string>& command) const {
  const NewRunFolder wanted = new_run_folder(path);
  const RunFolder there(wanted.parent + "/" + wanted.name);
  const std::string found = there.settings();
  if (found == settings()) return there;
  if (!found.empty())
    return Error{
        ErrorCode::kUserInput,
        there.path() + " holds a run with another config or topology. Name another folder."};
  auto folder = RunFolder::share(folder_request(wanted));
  if (!folder) return folder;
  const Status written = folder->write_info(run_info(wanted, command));
  return written ? folder : written.error();
}

CoreOptions Mesh::core_options(NodeIndex node) const {
  CoreOptions options =
      kimesh::core_options(config(), topology(), node, objective_->weights()[node]);
  options.has_test_set = objective_->has_test_set();
  return options;
}

Result<VectorsOptions> Mesh::vectors_options(NodeIndex node) const {
  VectorsOptions options =
      kimesh::vectors_options(config(), topology(), node, objective_->weights());
  if (const Status there = open_device(options); !there) return there.error();
  return options;
}

}  // namespace kimesh
