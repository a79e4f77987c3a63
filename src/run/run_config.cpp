#include "kimesh/run/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config_reader.h"
#include "kimesh/config/key_reader.h"
#include "kimesh/config/key_text.h"
#include "kimesh/config/map_reader.h"
#include "limits.h"

namespace kimesh {
namespace {

std::string canonical_quadratic(const QuadraticConfig& quadratic) {
  if (!quadratic.path.empty()) return "quadratic from a file\n";
  return fmt::format("quadratic {} condition {} heterogeneity {}\n", quadratic.dimension,
                     quadratic.condition, quadratic.heterogeneity);
}

std::string canonical_optimizer(OptimizerOptions optimizer) {
  return canonical_text([&](Keys& keys) { optimizer.describe(keys); });
}

std::string canonical_compression(const CompressionOptions& options,
                                  std::optional<Duration> round_time) {
  CompressionOptions compression = options;
  std::string text = canonical_text([&](Keys& keys) { compression.describe(keys); });
  if (compression.policy->needs_round_time() && round_time)
    text += fmt::format("round_time {}\n", round_time->count());
  return text;
}

std::string canonical_objective(const RunConfig& config) {
  if (config.own_objective) return "objective own\n";
  if (config.quadratic) return canonical_quadratic(*config.quadratic);
  return canonical(config.model) + canonical(config.data);
}

std::string canonical_stop(const StopConfig& stop) {
  std::string text = "stop";
  if (stop.rounds) text += fmt::format(" rounds {}", *stop.rounds);
  if (stop.accuracy) text += fmt::format(" accuracy {}", *stop.accuracy);
  if (stop.loss) text += fmt::format(" loss {}", *stop.loss);
  if (stop.time) text += fmt::format(" time {}", stop.time->count());
  return text + "\n";
}

void note_lines(const YamlValue& value, const std::string& above, Places& places) {
  for (const YamlMember& member : value.members) {
    const std::string name = above.empty() ? member.key : above + "." + member.key;
    places.set(name, member.line);
    note_lines(member.value, name, places);
  }
}

// What is minimised: a model on data, a quadratic, or what the program brings.
void read_objective(MapReader& top, RunConfig& config, Complaints& complaints) {
  if (top.find("objective") != nullptr) {
    top.choose("objective", config.own_objective, {{"own", true}});
    return top.refuse({"model", "data", "quadratic"}, "objective: own, which stands for it");
  }
  if (const YamlMember* quadratic = top.find("quadratic")) {
    read_quadratic(quadratic->value, config.quadratic.emplace(), complaints);
    return top.refuse({"model", "data"}, "quadratic, which stands for both");
  }
  top.require("model", "model: {kind: mlp}");
  top.require("data", "data: {kind: digits}");
  if (const YamlMember* model = top.find("model"))
    read_model(model->value, config.model, complaints);
  if (const YamlMember* data = top.find("data")) read_data(data->value, config.data, complaints);
}

// These look at floats where the CPU has them.
void check_device(MapReader& top, const RunConfig& config) {
  const CompressionOptions& compression = config.compression;
  const bool only_on_cpu =
      !compression.policy->sends_everything() && !compression.codec->traits().on_devices;
  if (config.device == DeviceKind::kCuda && only_on_cpu)
    top.complain("device", "this config's compressor has no version for GPUs",
                 "Write device: cpu, or compressor: topk or dzq");
}

void check_quadratic_stop(MapReader& top, const StopConfig& stop) {
  for (const auto& [key, target] : {std::pair{"accuracy", stop.accuracy}, {"loss", stop.loss}})
    if (target)
      top.complain("stop",
                   fmt::format("stop.{} cannot be reached: a quadratic has no test set", key),
                   "Write stop: {rounds: 1000}");
}

// What two sections can only tell together.
void check_sections(MapReader& top, const RunConfig& config) {
  check_device(top, config);
  if (config.own_objective) return;  // a mesh looks whether the objective has a test set
  if (config.quadratic) return check_quadratic_stop(top, config.stop);
  const bool digits = config.data.kind == DataKind::kDigits;
  const std::size_t blocks = config.model.channels.size();
  if (config.model.kind == ModelKind::kCnn && digits && blocks > limits::kDigitsBlocksMax)
    top.complain("model",
                 fmt::format("{} blocks of channels halve an image of 8x8 to nothing", blocks),
                 fmt::format("Write at most {} channels for digits", limits::kDigitsBlocksMax));
}

// Only of two sections that are right by themselves.
void check_model_suits_data(MapReader& top, const RunConfig& config) {
  const bool text = config.data.kind == DataKind::kText;
  if (reads_tokens(config.model.kind) == text) return;
  if (text)
    top.complain("model", "the model is for images and features, but the data is text",
                 "Write kind: lstm or kind: transformer");
  else
    top.complain("model", "the model is for text, but the data holds images or features",
                 "Write kind: mlp, cnn, resnet or vgg, or data: {kind: text, path: ...}");
}

}  // namespace

std::string RunConfig::canonical() const {
  return canonical_objective(*this) + canonical_optimizer(optimizer) +
         canonical_compression(compression, round_time) + canonical_stop(stop) +
         fmt::format("evaluate_every {}\nseed {}\n", evaluate_every, seed);
}

Loaded<RunConfig> load_config(const std::string& path) {
  Loaded<RunConfig> loaded;
  RunConfig& config = loaded.value;
  Complaints complaints(path);
  config.places = Places(path);
  if (const auto root = read_yaml(path, complaints)) {
    note_lines(*root, "", config.places);
    MapReader top(complaints, *root, "",
                  {"model", "data", "quadratic", "objective", "optimizer", "compression",
                   "round_time", "stop", "evaluate_every", "seed", "threads", "device"});
    read_objective(top, config, complaints);
    top.require("optimizer", "optimizer: {kind: sgd, lr: 0.1}");
    if (const YamlMember* member = top.find("optimizer"))
      read_keys(member->value, "optimizer", complaints, config.places,
                [&](Keys& keys) { config.optimizer.describe(keys); });
    if (const YamlMember* member = top.find("compression"))
      read_keys(member->value, "compression", complaints, config.places,
                [&](Keys& keys) { config.compression.describe(keys); });
    top.read("round_time", config.round_time,
             {limits::kRoundTimeSecondsMin, limits::kRoundTimeSecondsMax});
    top.require("stop", "stop: {rounds: 1000}, without which the run would never end");
    if (const YamlMember* member = top.find("stop"))
      read_stop(member->value, config.stop, complaints);
    top.read_whole("evaluate_every", config.evaluate_every, {1, kRoundsMax});
    top.read("seed", config.seed);
    top.read_whole("threads", config.threads, {0, double{limits::kThreadsMax}});
    top.choose("device", config.device, {{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}});
    config.device_line = top.line_of("device");
    check_sections(top, config);
    if (complaints.empty()) check_theory(config, complaints);
    if (complaints.empty() && !config.quadratic && !config.own_objective)
      check_model_suits_data(top, config);
  }
  loaded.problems = complaints.take();
  return loaded;
}

}  // namespace kimesh
