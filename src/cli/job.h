// What the two files ask for, ready to be run by either driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/objective/quadratic.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/round/core.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/plan.h"
#include "kimesh/train/trainer.h"
#include "kimesh/vectors/vectors.h"
#include "src/cli/commands.h"

namespace kimesh::cli {

struct Files {
  RunConfig config;
  TopologyFile topology;
  std::string config_path, topology_path;
};
// Says every problem of both files, each on its line. Nothing: there was one.
[[nodiscard]] std::optional<Files> load_files(const std::string& config_path,
                                              const std::string& topology_path);

// Objectives and plans point into a job: it stays where it is.
class Job {
 public:
  // Looks at the data and lays the plan. Errors: UserInput.
  [[nodiscard]] static Result<std::unique_ptr<Job>> make(Files files);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] const RunConfig& config() const { return files_.config; }
  [[nodiscard]] const TopologyFile& topology() const { return files_.topology; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] std::size_t nodes() const { return files_.topology.nodes.size(); }
  // Null: a LibTorch model is trained.
  [[nodiscard]] const QuadraticProblem* quadratic() const {
    return quadratic_ ? &*quadratic_ : nullptr;
  }

  // Whether what is scored are tokens, so that a perplexity is told.
  [[nodiscard]] bool trains_on_text() const {
    return !quadratic_ && reads_tokens(config().model.kind);
  }

  // Reads the node's part of the data. Errors: UserInput.
  [[nodiscard]] Result<std::unique_ptr<Objective>> objective(NodeIndex node) const;
  // What of the model is not in the plan, because it never changes.
  [[nodiscard]] const NamedValues& frozen() const { return frozen_; }
  // Of all that the nodes must agree on before they start, besides topology and first point.
  [[nodiscard]] std::uint64_t config_digest() const;
  [[nodiscard]] double data_weight(NodeIndex node) const { return weights_[node]; }
  [[nodiscard]] CoreOptions core_options(NodeIndex node, bool digests) const;
  // Whether this machine has the device that the config names. Errors: UserInput.
  [[nodiscard]] Status check_device() const;
  // Before vectors_options of a node that runs in this process; all of them share the device.
  // Errors: as check_device.
  [[nodiscard]] Status open_device();
  [[nodiscard]] VectorsOptions vectors_options(NodeIndex node) const;
  // LibTorch's threads per node when `local_nodes` share this machine.
  [[nodiscard]] int threads(std::size_t local_nodes) const;
  [[nodiscard]] std::string environment() const;
  // Makes the folder of a run and writes what is known before it starts. Errors: UserInput, Io.
  [[nodiscard]] Result<RunFolder> make_folder(const RunOptions& options) const;

 private:
  explicit Job(Files files) : files_(std::move(files)) {}
  [[nodiscard]] Result<Layout> prepare(std::span<const double> declared_weights);
  [[nodiscard]] Status take_weights();
  [[nodiscard]] Status open_device(VectorsOptions& options) const;

  Files files_;
  std::optional<TrainingData> data_;
  std::optional<QuadraticProblem> quadratic_;
  NamedValues frozen_;
  std::vector<double> weights_;  // ω_i
  VectorsOptions opened_;        // nothing but the device
  Plan plan_;
};

}  // namespace kimesh::cli
