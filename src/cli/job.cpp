#include "src/cli/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "kimesh/model_files/model_files.h"
#include "kimesh/run/options.h"
#include "kimesh/train/weights.h"
#include "kimesh/util/digest.h"
#include "src/cli/say.h"
#include "src/cli/version.h"

namespace kimesh::cli {
namespace {

// data_weight of every node; empty when none has one, which is all or nothing (config).
std::vector<double> declared_weights(const TopologyFile& topology) {
  std::vector<double> weights;
  for (const NodeSpec& node : topology.nodes)
    if (node.data_weight) weights.push_back(*node.data_weight);
  return weights;
}

std::vector<double> shares(std::vector<double> weights, std::size_t nodes) {
  if (weights.empty()) weights.assign(nodes, 1.0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

std::optional<Files> load_files(const std::string& config_path, const std::string& topology_path) {
  Loaded<RunConfig> config = load_config(config_path);
  Loaded<TopologyFile> topology = load_topology(topology_path);
  std::vector<Problem> problems = config.problems;
  problems.insert(problems.end(), topology.problems.begin(), topology.problems.end());
  if (problems.empty())
    problems = check_together(config.value, config_path, topology.value, topology_path);
  for (const Problem& problem : problems) complain(to_string(problem));
  if (!problems.empty()) return std::nullopt;
  return Files{std::move(config.value), std::move(topology.value), config_path, topology_path};
}

Result<Layout> Job::prepare(std::span<const double> declared) {
  if (config().quadratic) {
    weights_ = shares({declared.begin(), declared.end()}, nodes());
    const QuadraticConfig& wanted = *config().quadratic;
    if (wanted.path.empty()) {
      quadratic_ = make_quadratic(wanted, nodes(), weights_, config().seed);
    } else {
      auto loaded = load_quadratic(wanted.path, nodes(), weights_);
      if (!loaded) return loaded.error();
      quadratic_ = std::move(*loaded);
    }
    return Layout::vector(quadratic_->dimension);
  }
  auto data = prepare_training_data(config(), nodes(), declared);
  if (!data) return data.error();
  data_ = std::move(*data);
  weights_ = data_->weights;
  if (const Status taken = take_weights(); !taken.ok()) return taken.error();
  frozen_ = frozen_tensors(config(), *data_);
  return model_layout(config(), *data_);
}

Status Job::take_weights() {
  const std::string& path = config().model.weights;
  if (path.empty()) return ok_status();
  std::vector<std::string> skipped;
  const auto tensors = read_tensors(path, skipped);
  if (!tensors) return Error{ErrorCode::kUserInput, tensors.error().message};
  const auto unused = start_from(config(), *tensors, *data_);
  if (!unused) return Error{ErrorCode::kUserInput, path + ": " + unused.error().message};
  skipped.insert(skipped.end(), unused->begin(), unused->end());
  if (!skipped.empty())
    say(fmt::format("{}: the model has no use for {} of its tensors, such as {}", path,
                    skipped.size(), skipped.front()));
  return ok_status();
}

std::uint64_t Job::config_digest() const {
  std::string text = config().canonical();
  if (!frozen_.values.empty()) text += digest_name(digest_floats(frozen_.values));
  return digest_text(text);
}

Result<std::unique_ptr<Job>> Job::make(Files files) {
  std::unique_ptr<Job> job(new Job(std::move(files)));
  const auto layout = job->prepare(declared_weights(job->topology()));
  if (!layout) return layout.error();
  auto plan = make_plan(job->topology(), *layout);
  if (!plan) return plan.error();
  job->plan_ = std::move(*plan);
  if (job->config().optimizer.lr_is_theory)
    job->files_.config.optimizer.lr =
        theory_learning_rate(job->config(), *job->quadratic_, job->plan_);
  const Status enough = check_traffic(job->config(), job->topology(), job->plan_);
  if (!enough.ok())
    return Error{enough.error().code, job->files_.topology_path + ":" + enough.error().message};
  return job;
}

Result<std::unique_ptr<Objective>> Job::objective(NodeIndex node) const {
  if (quadratic_) return make_quadratic_objective(*quadratic_, node);
  return make_trainer(config(), *data_, node);
}

CoreOptions Job::core_options(NodeIndex node, bool digests) const {
  CoreOptions options = kimesh::core_options(config(), topology(), node, weights_[node]);
  options.digest_shards = digests;
  return options;
}

Status Job::check_device() const {
  VectorsOptions closed_again;
  return open_device(closed_again);
}

Status Job::open_device() {
  return open_device(opened_);
}

Status Job::open_device(VectorsOptions& options) const {
  if (config().device == DeviceKind::kCpu) return ok_status();
  Status opened = use_gpu(options);
  if (opened) return opened;
  return Error{ErrorCode::kUserInput,
               fmt::format("{}:{}: device: cuda asks for a GPU, but there is {}",
                           files_.config_path, config().device_line, opened.error().message)};
}

VectorsOptions Job::vectors_options(NodeIndex node) const {
  VectorsOptions options = kimesh::vectors_options(config(), weights_[node]);
  options.memory = opened_.memory;
  options.gradient_memory = opened_.gradient_memory;
  return options;
}

int Job::threads(std::size_t local_nodes) const {
  if (config().threads > 0) return config().threads;
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  return std::max(1, static_cast<int>(cores / std::max<std::size_t>(1, local_nodes)));
}

std::string Job::environment() const {
  return quadratic_ ? "quadratics, no LibTorch" : training_environment();
}

Result<RunFolder> Job::make_folder(const RunOptions& options) const {
  RunFolderRequest request;
  request.name = options.run;
  request.config_path = files_.config_path;
  request.topology_path = files_.topology_path;
  request.topology_files = topology().traces;
  if (config().quadratic && !config().quadratic->path.empty()) {
    const auto beside = std::filesystem::path(files_.config_path).parent_path();
    request.config_files.push_back(
        std::filesystem::path(config().quadratic->path).lexically_proximate(beside).string());
  }
  auto folder = RunFolder::create(request);
  if (!folder) return folder;
  RunInfo info{options.command,    kVersion,
               build_text(),       environment(),
               date_and_time(),    config().seed,
               files_.config_path, files_.topology_path,
               plan_.view.nodes,   config().optimizer.lr};
  if (const Status written = folder->write_info(info); !written.ok()) return written.error();
  return folder;
}

}  // namespace kimesh::cli
