#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "config_reader.h"
#include "kimesh/config/map_reader.h"
#include "limits.h"
#include "model_limits.h"

namespace kimesh {
namespace {

constexpr Range kWidths{1, double{limits::kWidthMax}};
constexpr Range kStages{1, double{limits::kStageWidthMax}};
constexpr Range kDepths{8, double{limits::kDepthMax}};
constexpr Range kStack{1, double{limits::kStackMax}};

struct KindOfModel {
  std::string_view name;
  ModelKind kind;
  std::vector<std::string_view> keys;  // besides those of every kind
};

const std::vector<KindOfModel>& kinds() {
  static const std::vector<KindOfModel> all = {
      {"mlp", ModelKind::kMlp, {"hidden"}},
      {"cnn", ModelKind::kCnn, {"channels", "dense"}},
      {"resnet", ModelKind::kResnet, {"depth", "width"}},
      {"vgg", ModelKind::kVgg, {"depth", "width"}},
      {"lstm", ModelKind::kLstm, {"layers", "hidden", "embedding"}},
      {"transformer", ModelKind::kTransformer, {"layers", "heads", "embedding", "tied"}},
  };
  return all;
}

constexpr std::array<std::string_view, 5> kKeysOfAll = {"kind", "compute", "frozen", "weights",
                                                        "fresh"};

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(kKeysOfAll.begin(), kKeysOfAll.end());
  for (const KindOfModel& kind : kinds())
    for (const std::string_view key : kind.keys)
      if (std::ranges::find(keys, key) == keys.end()) keys.insert(keys.end() - 4, key);
  return keys;
}

const KindOfModel& row_of(ModelKind kind) {
  return *std::ranges::find(kinds(), kind, &KindOfModel::kind);
}

void refuse_keys_of_others(MapReader& reader, const KindOfModel& row) {
  for (const std::string_view key : known_keys())
    if (std::ranges::find(kKeysOfAll, key) == kKeysOfAll.end() &&
        std::ranges::find(row.keys, key) == row.keys.end())
      reader.refuse({key}, fmt::format("kind: {}", row.name));
}

bool has_layers_of_resnet(std::int64_t depth) {
  if (depth == 50 || depth == 152) return false;  // 6n + 2, but everybody means the bottlenecks
  return depth == 18 || depth == 34 || (depth - 2) % 6 == 0;
}

void read_depth(MapReader& reader, ModelConfig& model) {
  const bool resnet = model.kind == ModelKind::kResnet;
  if (!resnet) model.depth = 11;
  reader.read("depth", model.depth, kDepths);
  reader.read("width", model.width, kStages);
  constexpr std::array<std::int64_t, 4> kVggs = {11, 13, 16, 19};
  const bool right = resnet ? has_layers_of_resnet(model.depth)
                            : std::ranges::find(kVggs, model.depth) != kVggs.end();
  if (right) return;
  reader.complain(
      "depth",
      fmt::format("there is no {} of {} layers here", resnet ? "resnet" : "vgg", model.depth),
      resnet ? "Write 18, 34, or 6n + 2 other than 50 and 152, such as 20, 32 or 56"
             : "Write one of: 11, 13, 16, 19");
}

void read_sequence_model(MapReader& reader, ModelConfig& model) {
  reader.read("layers", model.layers, kStack);
  reader.read("embedding", model.embedding, kWidths);
  if (model.kind == ModelKind::kLstm) return reader.read("hidden", model.hidden_size, kWidths);
  reader.read("heads", model.heads, {1, double{limits::kHeadsMax}});
  reader.choose("tied", model.tied, {{"false", false}, {"true", true}});
  if (model.embedding % model.heads != 0)
    reader.complain("embedding",
                    fmt::format("{} heads cannot share an embedding of {} numbers equally",
                                model.heads, model.embedding),
                    "Write a number of heads that divides the embedding");
}

void read_image_model(MapReader& reader, ModelConfig& model) {
  if (model.kind == ModelKind::kMlp)
    return reader.read("hidden", model.hidden, kWidths, limits::kHiddenMax);
  if (model.kind != ModelKind::kCnn) return read_depth(reader, model);
  reader.read("channels", model.channels, {1, double{limits::kChannelsMax}},
              limits::kCifarBlocksMax);
  if (model.channels.empty())
    reader.complain("channels", "model.channels is empty", "Write at least one number");
  reader.read_whole("dense", model.dense, kWidths);
}

void read_prefixes(MapReader& reader, std::string_view key, std::vector<std::string>& target) {
  const YamlMember* member = reader.find(key);
  if (member == nullptr) return;
  const std::string remedy =
      fmt::format("Write a list of names as torch gives them, such as {}: [layers.0]", key);
  const YamlValue& value = member->value;
  if (value.kind != YamlValue::Kind::kList || value.items.size() > limits::kPrefixesMax)
    return reader.complain(key, fmt::format("model.{} is no list of names", key), remedy);
  for (const YamlValue& item : value.items) {
    if (item.kind != YamlValue::Kind::kText || item.text.empty())
      return reader.complain(key, fmt::format("model.{} holds {}", key, kind_name(item)), remedy);
    target.push_back(item.text);
  }
}

void read_start(MapReader& reader, ModelConfig& model, const std::string& file) {
  read_prefixes(reader, "frozen", model.frozen);
  reader.read("weights", model.weights);
  if (!model.weights.empty()) model.weights = path_beside(file, model.weights);
  if (reader.find("weights") == nullptr)
    reader.refuse({"fresh"}, "a model without weights, which is drawn anew anyway");
  read_prefixes(reader, "fresh", model.fresh);
  for (const std::string& fresh : model.fresh)
    for (const std::string& frozen : model.frozen)
      if ((fresh + ".").starts_with(frozen + ".") || (frozen + ".").starts_with(fresh + "."))
        return reader.complain("fresh",
                               fmt::format("{} is fresh and frozen: what is drawn anew would "
                                           "never learn",
                                           quoted(fresh)),
                               "Name it in one of the two lists");
}

std::string canonical_shape(const ModelConfig& m) {
  switch (m.kind) {
    case ModelKind::kMlp:
      return fmt::format("{}", fmt::join(m.hidden, " "));
    case ModelKind::kCnn:
      return fmt::format("{} dense {}", fmt::join(m.channels, " "), m.dense);
    case ModelKind::kResnet:
    case ModelKind::kVgg:
      return fmt::format("{} width {}", m.depth, m.width);
    case ModelKind::kLstm:
      return fmt::format("{} hidden {} embedding {}", m.layers, m.hidden_size, m.embedding);
    case ModelKind::kTransformer:
      return fmt::format("{} heads {} embedding {} tied {}", m.layers, m.heads, m.embedding,
                         m.tied);
  }
  return "";
}

}  // namespace

void read_model(const YamlValue& value, ModelConfig& model, Complaints& complaints) {
  MapReader reader(complaints, value, "model", known_keys());
  reader.require("kind", "kind: mlp");
  reader.choose("compute", model.compute,
                {{"float32", ComputeKind::kFloat32}, {"bfloat16", ComputeKind::kBfloat16}});
  read_start(reader, model, complaints.file());
  std::vector<std::pair<std::string_view, ModelKind>> choices;
  for (const KindOfModel& kind : kinds()) choices.emplace_back(kind.name, kind.kind);
  if (!reader.choose("kind", model.kind, choices)) return;
  if (reads_tokens(model.kind))
    read_sequence_model(reader, model);
  else
    read_image_model(reader, model);
  refuse_keys_of_others(reader, row_of(model.kind));
}

bool reads_tokens(ModelKind kind) {
  return kind == ModelKind::kLstm || kind == ModelKind::kTransformer;
}

std::string canonical(const ModelConfig& model) {
  std::string text = fmt::format("model {} {}", row_of(model.kind).name, canonical_shape(model));
  if (model.compute == ComputeKind::kBfloat16) text += " bfloat16";
  if (!model.frozen.empty()) text += fmt::format(" frozen {}", fmt::join(model.frozen, " "));
  // Which weights they are is told by the digest of the first point.
  if (!model.weights.empty()) text += " from weights";
  if (!model.fresh.empty()) text += fmt::format(" fresh {}", fmt::join(model.fresh, " "));
  return text + "\n";
}

}  // namespace kimesh
