#include <fmt/format.h>

#include "src/config/config_reader.h"
#include "src/config/limits.h"
#include "src/config/map_reader.h"

namespace kimesh {
namespace {

constexpr Range kRounds{1, double{limits::kRoundsMax}};
constexpr Range kRoundsOrNone{0, double{limits::kRoundsMax}};
constexpr Range kWidths{1, double{limits::kWidthMax}};

void read_split(MapReader& reader, DataConfig& data, Complaints& complaints) {
  const YamlMember* member = reader.find("split");
  if (member == nullptr) return;
  data.split_line = member->line;
  if (member->value.kind == YamlValue::Kind::kMap) {
    MapReader split(complaints, member->value, "data.split", {"dirichlet"});
    split.require("dirichlet", "a concentration, such as split: {dirichlet: 0.3}");
    data.split = SplitKind::kDirichlet;
    split.read("dirichlet", data.dirichlet, {limits::kDirichletMin, limits::kDirichletMax});
    return;
  }
  const std::string& text = member->value.text;
  if (text == "even")
    data.split = SplitKind::kEven;
  else if (text == "weights")
    data.split = SplitKind::kWeights;
  else if (text == "by_label")
    data.split = SplitKind::kByLabel;
  else
    reader.complain("split", fmt::format("data.split is {}", kind_name(member->value)),
                    "Write one of: even, weights, by_label, {dirichlet: 0.3}");
}

void read_schedule(const YamlValue& value, ScheduleConfig& schedule, Complaints& complaints) {
  MapReader reader(complaints, value, "optimizer.schedule",
                   {"kind", "warmup", "every", "factor", "rounds"});
  reader.choose("kind", schedule.kind,
                {{"constant", ScheduleKind::kConstant},
                 {"step", ScheduleKind::kStep},
                 {"cosine", ScheduleKind::kCosine}});
  reader.read_whole("warmup", schedule.warmup, kRoundsOrNone);
  if (schedule.kind == ScheduleKind::kStep) {
    reader.require("every", "every: with the rounds between drops, such as every: 200");
    reader.read_whole("every", schedule.every, kRounds);
    reader.read("factor", schedule.factor, {0, 1, true});
  } else {
    reader.refuse({"every", "factor"}, "a schedule other than kind: step");
  }
  if (schedule.kind == ScheduleKind::kCosine) {
    reader.require("rounds", "rounds: with the length of the half wave, such as rounds: 600");
    reader.read_whole("rounds", schedule.rounds, kRounds);
  } else {
    reader.refuse({"rounds"}, "a schedule other than kind: cosine");
  }
}

}  // namespace

void read_model(const YamlValue& value, ModelConfig& model, Complaints& complaints) {
  MapReader reader(complaints, value, "model", {"kind", "hidden", "channels", "dense"});
  reader.require("kind", "kind: mlp");
  if (!reader.choose("kind", model.kind, {{"mlp", ModelKind::kMlp}, {"cnn", ModelKind::kCnn}}))
    return;
  if (model.kind == ModelKind::kMlp) {
    reader.read("hidden", model.hidden, kWidths, limits::kHiddenMax);
    reader.refuse({"channels", "dense"}, "kind: mlp");
  } else {
    reader.read("channels", model.channels, {1, double{limits::kChannelsMax}},
                limits::kCifarBlocksMax);
    if (model.channels.empty())
      reader.complain("channels", "model.channels is empty", "Write at least one number");
    reader.read_whole("dense", model.dense, kWidths);
    reader.refuse({"hidden"}, "kind: cnn");
  }
}

void read_data(const YamlValue& value, DataConfig& data, Complaints& complaints) {
  MapReader reader(complaints, value, "data", {"kind", "path", "batch", "split", "test_share"});
  reader.require("kind", "kind: digits");
  reader.read_whole("batch", data.batch, {1, double{limits::kBatchMax}});
  read_split(reader, data, complaints);
  if (!reader.choose("kind", data.kind,
                     {{"digits", DataKind::kDigits}, {"cifar10", DataKind::kCifar10}}))
    return;
  if (data.kind == DataKind::kCifar10) {
    reader.require("path", "path: with the folder that holds data_batch_1.bin");
    reader.read("path", data.path);
    if (!data.path.empty()) data.path = path_beside(complaints.file(), data.path);
    reader.refuse({"test_share"}, "kind: cifar10, whose test set is a file of its own");
  } else {
    reader.refuse({"path"}, "kind: digits, which are built in");
    reader.read("test_share", data.test_share, {limits::kTestShareMin, limits::kTestShareMax});
  }
}

void read_quadratic(const YamlValue& value, QuadraticConfig& quadratic, Complaints& complaints) {
  MapReader reader(complaints, value, "quadratic",
                   {"path", "dimension", "condition", "heterogeneity"});
  if (reader.find("path") != nullptr) {
    reader.read("path", quadratic.path);
    if (!quadratic.path.empty()) quadratic.path = path_beside(complaints.file(), quadratic.path);
    reader.refuse({"dimension", "condition", "heterogeneity"}, "a path, whose file says it");
    return;
  }
  reader.read_whole("dimension", quadratic.dimension, {1, double{limits::kDimensionMax}});
  reader.read("condition", quadratic.condition, {1, limits::kConditionMax});
  reader.read("heterogeneity", quadratic.heterogeneity, {0, limits::kHeterogeneityMax});
}

void read_optimizer(const YamlValue& value, OptimizerConfig& optimizer, Complaints& complaints) {
  MapReader reader(
      complaints, value, "optimizer",
      {"kind", "lr", "momentum", "beta1", "beta2", "epsilon", "weight_decay", "clip", "schedule"});
  reader.require("kind", "kind: sgd");
  reader.require("lr", "lr: with the step size, such as lr: 0.1");
  const bool kind_known = reader.choose(
      "kind", optimizer.kind, {{"sgd", OptimizerKind::kSgd}, {"adamw", OptimizerKind::kAdamw}});
  reader.read("lr", optimizer.lr, {0, limits::kLrMax, true});
  // A factor of 1 would never forget: the sum grows for ever.
  constexpr double kForgetMax = 0.99999;
  reader.read("momentum", optimizer.momentum, {0, kForgetMax});
  reader.read("beta1", optimizer.beta1, {0, kForgetMax});
  reader.read("beta2", optimizer.beta2, {0, kForgetMax});
  reader.read("epsilon", optimizer.epsilon, {limits::kEpsilonMin, limits::kEpsilonMax});
  reader.read("weight_decay", optimizer.weight_decay, {0, limits::kWeightDecayMax});
  reader.read("clip", optimizer.clip, {0, limits::kClipMax, true});
  if (const YamlMember* schedule = reader.find("schedule"))
    read_schedule(schedule->value, optimizer.schedule, complaints);
  if (!kind_known) return;
  if (optimizer.kind == OptimizerKind::kSgd)
    reader.refuse({"beta1", "beta2", "epsilon"}, "kind: sgd");
  else
    reader.refuse({"momentum"}, "kind: adamw, whose momentum is beta1");
}

void read_compression(const YamlValue& value, CompressionConfig& compression,
                      Complaints& complaints) {
  MapReader reader(complaints, value, "compression",
                   {"policy", "compressor", "ratio", "digest_every"});
  compression.line = reader.line_of("policy");
  reader.require("policy", "policy: kimad");
  const bool policy_known = reader.choose(
      "policy", compression.policy,
      {{"none", PolicyKind::kNone}, {"fixed", PolicyKind::kFixed}, {"kimad", PolicyKind::kKimad}});
  reader.choose("compressor", compression.compressor,
                {{"identity", CompressorKind::kIdentity}, {"topk", CompressorKind::kTopk}});
  reader.read("ratio", compression.ratio, {0, 1, true});
  reader.read_whole("digest_every", compression.digest_every, kRoundsOrNone);
  if (!policy_known) return;
  const bool identity = compression.compressor == CompressorKind::kIdentity;
  if (compression.policy == PolicyKind::kNone) {
    if (reader.find("compressor") != nullptr && !identity)
      reader.refuse({"compressor"}, "policy: none, which sends everything");
    compression.compressor = CompressorKind::kIdentity;
  } else if (identity) {
    reader.complain("compressor",
                    "compressor: identity sends everything, whatever the policy decides",
                    "Write compressor: topk, or policy: none");
  }
  if (compression.policy == PolicyKind::kFixed)
    reader.require("ratio", "ratio: with the share that is kept, such as ratio: 0.01");
  else
    reader.refuse({"ratio"}, "a policy other than fixed");
}

void read_stop(const YamlValue& value, StopConfig& stop, Complaints& complaints) {
  MapReader reader(complaints, value, "stop", {"rounds", "accuracy", "time"});
  if (reader.find("rounds") != nullptr) {
    Round rounds = 0;
    reader.read_whole("rounds", rounds, kRounds);
    if (rounds > 0) stop.rounds = rounds;
  }
  reader.read("accuracy", stop.accuracy, {0, 1, true});
  reader.read("time", stop.time, {limits::kRoundTimeSecondsMin, limits::kStopSecondsMax});
  if (value.kind == YamlValue::Kind::kMap && value.members.empty())
    complaints.add(value.line, "stop is empty: the run would never end",
                   "Write one or more of: rounds, accuracy, time");
}

}  // namespace kimesh
