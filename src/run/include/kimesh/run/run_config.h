// configs/*.yaml: what is trained, on what, how, and when it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/config/key_text.h"
#include "kimesh/config/keys.h"
#include "kimesh/config/places.h"
#include "kimesh/config/problem.h"
#include "kimesh/data/data_options.h"
#include "kimesh/objective/model_options.h"
#include "kimesh/objective/quadratic.h"
#include "kimesh/optimizer/optimizer.h"
#include "kimesh/policy/compression_options.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class Complaints;
struct YamlValue;

// The section `stop`: the run ends with the first of these that happens.
struct StopOptions {
  std::optional<Round> rounds;
  std::optional<double> accuracy;  // of the test set, (0, 1]
  std::optional<double> loss;      // mean over the test set's samples (of text: tokens), in nats
  std::optional<Duration> time;    // of the run's clock, which leaves evaluation out

  void describe(Keys& keys);
};

// The section `checkpoint`: when the run saves what it needs to go on after a loss of power.
struct CheckpointKeys {
  Duration every = std::chrono::minutes(10);
  std::optional<Round> every_rounds;  // instead of `every`
  unsigned keep = 2;                  // the newest so many; 0: none is made

  void describe(Keys& keys);
};

// The section `records`: how much a live run keeps of what it writes down.
struct RecordKeys {
  // The most bytes of a node's records, and of its decisions. The default holds about a day of
  // rounds of one second, and is read in a second when the run goes on.
  std::optional<std::uint64_t> most = std::uint64_t{64} << 20;

  void describe(Keys& keys);
};

// Where a node's float vectors lie and messages are made; gradients are computed there, too, where
// LibTorch has a part for GPUs.
enum class DeviceKind { kCpu, kCuda };

struct RunConfig {
  ModelOptions model;
  DataOptions data;
  std::optional<QuadraticOptions> quadratic;  // instead of model and data
  // `objective: own`: each node's program brings its own, and nodes agree on the parameters alone.
  // Where model and data are given they are what the program `kimesh` brings.
  bool own_objective = false;
  OptimizerOptions optimizer;
  CompressionOptions compression;
  std::optional<Duration> round_time;  // policies say whether they need it
  StopOptions stop;
  CheckpointKeys checkpoint;
  RecordKeys records;
  Round evaluate_every = 10;
  std::uint64_t seed = 1;
  int threads = 0;  // LibTorch threads per node; 0: cores / local nodes
  DeviceKind device = DeviceKind::kCpu;
  Places places;  // of the file's keys, for sentences of later checks

  void describe(Keys& keys);
  // Whether a model is trained on data, and nothing else takes their place.
  [[nodiscard]] bool trains_a_model() const {
    return !quadratic && plugin() == nullptr && (!own_objective || model.kind != nullptr);
  }
  // The library that takes the place of model and data; null: there is none.
  [[nodiscard]] const PluginOptions* plugin() const {
    return quadratic || model.kind == nullptr ? nullptr : model.kind->plugin();
  }
  // Whether all gradients are taken at one point, those of owners among them, as compression says
  // and the data's split allows.
  [[nodiscard]] bool takes_one_point() const;
  // As TopologyFile::canonical. Left out: threads, device, checkpoints and records, which differ
  // between machines, as paths do, and what means nothing with the kinds that were chosen.
  [[nodiscard]] std::string canonical(PathsInText paths = PathsInText::kLeftOut) const;

 private:
  void describe_objective(Keys& keys);
  void describe_data(Keys& keys, bool is_needed);
};

// Reads and checks the file whole. Errors: in `problems`. missing_files looks whether the data is
// there. The models that it may name are those of model_kinds(). Relative paths in it count from
// its folder; where it is a copy and nothing lies there, from the folder of `copied_from`.
[[nodiscard]] Loaded<RunConfig> load_config(const std::string& path,
                                            const std::string& copied_from = {});
// The same of a file that was read before: what read_yaml returned (null: nothing) and what it
// complained of.
[[nodiscard]] Loaded<RunConfig> load_config(const YamlValue* root, Complaints complaints);

// The files and folders that the config names (data, weights, a quadratic's table) and that are not
// there, each with the line of its key. `config` is what load_config returned.
[[nodiscard]] std::vector<Problem> missing_files(const RunConfig& config);

}  // namespace kimesh
