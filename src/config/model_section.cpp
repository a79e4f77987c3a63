#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/config/config_reader.h"
#include "src/config/limits.h"
#include "src/config/map_reader.h"

namespace kimesh {
namespace {

constexpr Range kWidths{1, double{limits::kWidthMax}};

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

std::string canonical(const ModelConfig& model) {
  if (model.kind == ModelKind::kMlp)
    return fmt::format("model mlp {}\n", fmt::join(model.hidden, " "));
  return fmt::format("model cnn {} dense {}\n", fmt::join(model.channels, " "), model.dense);
}

}  // namespace kimesh
