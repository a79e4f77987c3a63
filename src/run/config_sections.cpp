#include <fmt/format.h>

#include "kimesh/config/map_reader.h"
#include "src/run/config_reader.h"
#include "src/run/limits.h"

namespace kimesh {
namespace {

constexpr Range kRounds{1, kRoundsMax};
constexpr Range kRoundsOrNone{0, kRoundsMax};

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

void read_stop(const YamlValue& value, StopConfig& stop, Complaints& complaints) {
  MapReader reader(complaints, value, "stop", {"rounds", "accuracy", "loss", "time"});
  if (reader.find("rounds") != nullptr) {
    Round rounds = 0;
    reader.read_whole("rounds", rounds, kRounds);
    if (rounds > 0) stop.rounds = rounds;
  }
  reader.read("accuracy", stop.accuracy, {0, 1, true});
  reader.read("loss", stop.loss, {0, limits::kStopLossMax, true});
  reader.read("time", stop.time, {limits::kRoundTimeSecondsMin, limits::kStopSecondsMax});
  if (value.kind == YamlValue::Kind::kMap && value.members.empty())
    complaints.add(value.line, "stop is empty: the run would never end",
                   "Write one or more of: rounds, accuracy, loss, time");
}

}  // namespace kimesh
