#include <fmt/format.h>

#include "config_reader.h"
#include "kimesh/config/map_reader.h"
#include "limits.h"

namespace kimesh {
namespace {

constexpr Range kRounds{1, kRoundsMax};

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
