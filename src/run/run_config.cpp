#include "kimesh/run/run_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/config/findings.h"
#include "kimesh/config/key_reader.h"
#include "kimesh/config/key_text.h"
#include "limits.h"
#include "theory.h"

namespace kimesh {
namespace {

enum class ObjectiveKind { kOwn };

// Refuses compressors that read floats in the CPU's memory, where vectors lie on a GPU.
void check_device(const RunConfig& config, Findings& findings) {
  const CompressionOptions& compression = config.compression;
  const bool only_on_cpu =
      !compression.policy->sends_everything() && !compression.codec->traits().on_devices;
  if (config.device == DeviceKind::kCuda && only_on_cpu)
    findings.add("device", "this config's compressor has no version for GPUs",
                 "Write device: cpu, or compressor: topk or dzq");
}

// Refuses targets of a test set for a quadratic. Mesh::make checks a program's own objective.
void check_test_set(const RunConfig& config, Findings& findings) {
  if (!config.quadratic) return;
  const auto refuse = [&](const char* key) {
    findings.add("stop", fmt::format("stop.{} cannot be reached: a quadratic has no test set", key),
                 "Write stop: {rounds: 1000}");
  };
  if (config.stop.accuracy) refuse("accuracy");
  if (config.stop.loss) refuse("loss");
}

// Requires that both sections have no problem by themselves.
void check_model_suits_data(const RunConfig& config, Findings& findings) {
  if (!config.trains_a_model()) return;
  const DataKind& data = *config.data.kind;
  const auto misfit = find_misfit(*config.model.kind, data.holds_text(), data.image_side());
  if (misfit) findings.add("model", misfit->message, misfit->remedy);
}

// A worker takes moments of its own gradients, an owner of the gradients that messages bring. Where
// messages bring movements, an owner has no gradients to take moments of.
void check_moments(const RunConfig& config, Findings& findings) {
  const auto wanted = config.optimizer.kind->state_at();
  if (!wanted) return;
  const bool at_workers = config.compression.sends_movements();
  if (*wanted == OptimizerKind::StateAt::kWorker && !at_workers)
    findings.add("optimizer.moments",
                 "moments: worker makes movements, which only feedback: ef14 sends",
                 "Write compression: {policy: auto, feedback: ef14}, or leave out moments");
  if (*wanted == OptimizerKind::StateAt::kOwner && at_workers)
    findings.add("optimizer.moments",
                 "moments: owner asks for gradients, and feedback: ef14 sends movements",
                 "Write feedback: ef21, or leave out moments");
}

// Refuses an empty `stop`, with which a run would never end. A wrong key has its complaint already.
void check_stop(const YamlValue& root, Findings& findings) {
  const auto stop = std::ranges::find(root.members, "stop", &YamlMember::key);
  if (stop != root.members.end() && stop->value.kind == YamlValue::Kind::kMap &&
      stop->value.members.empty())
    findings.add("stop", "stop is empty: the run would never end",
                 "Write one or more of: rounds, accuracy, loss, time");
}

}  // namespace

// Owners at their exact shards see at once what gradients bring, and small messages need fewer
// rounds. Where data are unlike such points favour each owner's own data, and training fails
// (docs/experiments.md).
bool RunConfig::takes_one_point() const {
  if (compression.one_point != Use::kChosen) return compression.one_point == Use::kAlways;
  const bool is_alike = trains_a_model() && !own_objective && data.split->deals_alike();
  return !is_alike || compression.gather != Gather::kPerLink;
}

void StopOptions::describe(Keys& keys) {
  keys.whole("rounds", rounds, limits::kRounds, "after so many training rounds");
  keys.number("accuracy", accuracy, limits::kAccuracies,
              "when the test set's accuracy reaches it, confirmed with equal models");
  keys.number("loss", loss, limits::kLosses,
              "when the test set's mean loss falls to it, in nats, confirmed in the same way");
  keys.duration("time", time, limits::kStopSeconds, "after this time, evaluation left out");
}

void CheckpointKeys::describe(Keys& keys) {
  keys.duration("every", every, limits::kCheckpointSeconds, "time between two checkpoints");
  keys.whole("every_rounds", every_rounds, limits::kCheckpointRounds,
             "rounds between two checkpoints, instead of a time");
  if (keys.is_given("every_rounds")) keys.refuse({"every"}, "every_rounds, which stands for it");
  keys.whole("keep", keep, limits::kCheckpointsKept,
             "how many of the newest are kept; 0: none is made");
}

void RecordKeys::describe(Keys& keys) {
  keys.bytes("most", most,
             "of a node's records, and of its decisions, which are kept from the oldest checkpoint "
             "on; older ones go");
}

void RunConfig::describe_data(Keys& keys, bool is_needed) {
  if (plugin() != nullptr && !keys.wants_all())
    return keys.refuse({"data"}, "kind: plugin, whose library has its own");
  if (is_needed) keys.require("data", "data: {kind: digits}");
  keys.section({"data", "what it learns from, and who holds which part"},
               [&](Keys& map) { data.describe(map); });
}

void RunConfig::describe_objective(Keys& keys) {
  const bool own = own_objective || keys.is_given("objective");
  if (keys.is_given("quadratic") && !own && !quadratic) quadratic.emplace();
  // Which model the program brings to a mesh of several programs is its own affair.
  const bool is_given = keys.is_given("model") || keys.is_given("data");
  const bool brings_model = own && keys.wants_local() && (is_given || model.kind != nullptr);
  if (own) {
    keys.refuse({"quadratic"}, "objective: own, which stands for it");
    if (is_given) keys.require("model", "model: {kind: mlp}");
  } else if (quadratic) {
    keys.refuse({"model", "data"}, "quadratic, which stands for both");
  } else if (!keys.wants_all()) {
    keys.require("model", "model: {kind: mlp}");
  }
  if (keys.wants_all() || brings_model || (!own && !quadratic)) {
    keys.section({"model", "which network is trained"}, [&](Keys& map) { model.describe(map); });
    describe_data(keys, own ? is_given : !keys.wants_all());
  }
  if (keys.wants_all() || (!own && quadratic))
    keys.section({"quadratic", "a test problem in place of model and data"}, [&](Keys& map) {
      QuadraticOptions defaults;
      (quadratic ? *quadratic : defaults).describe(map);
    });
  std::optional<ObjectiveKind> objective;
  if (own_objective) objective = ObjectiveKind::kOwn;
  keys.choice("objective", objective, {{"own", ObjectiveKind::kOwn}},
              "each node's program brings its own; model and data are what `kimesh` brings then");
  if (own_objective != objective.has_value()) own_objective = objective.has_value();
}

void RunConfig::describe(Keys& keys) {
  describe_objective(keys);
  keys.require("optimizer", "optimizer: {kind: sgd, lr: 0.1}");
  keys.section({"optimizer", "how gradients become steps"},
               [&](Keys& map) { optimizer.describe(map); });
  keys.section({"compression", "what a link sends; without it everything"},
               [&](Keys& map) { compression.describe(map); });
  // Nodes need not agree on a time that no policy asks for.
  if (keys.wants_local() || compression.policy->round_time_use() != RoundTimeUse::kNone)
    keys.duration("round_time", round_time, limits::kRoundTimesSeconds,
                  "what a round may take, computing included; kimad and kimad_plus need it, auto "
                  "finds one without it");
  keys.require("stop", "stop: {rounds: 1000}, without which the run would never end");
  keys.section({"stop", "what ends the run, whichever comes first"},
               [&](Keys& map) { stop.describe(map); });
  keys.whole("evaluate_every", evaluate_every, limits::kRounds,
             "rounds between looks at the test set");
  keys.seed("seed", seed, "of everything that is drawn by chance");
  if (!keys.wants_local()) return;
  keys.section({"checkpoint", "what survives a loss of power, of live runs"},
               [&](Keys& map) { checkpoint.describe(map); });
  keys.section({"records", "what a live run keeps of what it writes down"},
               [&](Keys& map) { records.describe(map); });
  keys.whole("threads", threads, limits::kThreads,
             "LibTorch's threads of a node; 0: the cores, shared among this machine's nodes");
  keys.choice("device", device, {{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}},
              "where vectors lie, messages are made and LibTorch's gradients are computed");
}

std::string RunConfig::canonical(PathsInText paths) const {
  RunConfig config = *this;
  return canonical_text([&](Keys& keys) { config.describe(keys); }, paths);
}

Loaded<RunConfig> load_config(const std::string& path, const std::string& copied_from) {
  Complaints complaints(path, copied_from);
  const auto root = read_yaml(path, complaints);
  return load_config(root ? &*root : nullptr, std::move(complaints));
}

Loaded<RunConfig> load_config(const YamlValue* root, Complaints complaints) {
  Loaded<RunConfig> loaded;
  RunConfig& config = loaded.value;
  config.places = Places(complaints.file());
  if (root != nullptr) {
    read_keys(*root, "", complaints, config.places, [&](Keys& keys) { config.describe(keys); });
    Findings findings(complaints, config.places);
    check_stop(*root, findings);
    check_device(config, findings);
    check_moments(config, findings);
    check_test_set(config, findings);
    if (complaints.empty()) check_theory(config, findings);
    if (complaints.empty()) check_model_suits_data(config, findings);
  }
  loaded.problems = complaints.take();
  return loaded;
}

}  // namespace kimesh
