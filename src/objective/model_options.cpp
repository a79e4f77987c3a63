#include "kimesh/objective/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kimesh/config/map_reader.h"

namespace kimesh {
namespace {

// Every layer of a deep model, named by hand.
constexpr ListRule kPrefixes{0, 1000, "names as torch gives them", "[layers.0]"};

// A name of `fresh` that is in a module of `frozen`, or the other way round; null: there is none.
const std::string* fresh_and_frozen(const ModelOptions& model) {
  for (const std::string& fresh : model.fresh)
    for (const std::string& frozen : model.frozen)
      if ((fresh + ".").starts_with(frozen + ".") || (frozen + ".").starts_with(fresh + "."))
        return &fresh;
  return nullptr;
}

// "kind: mlp, cnn or resnet": the kinds that `wanted` holds for, at their defaults. What comes from
// a file of one's own is no remedy.
template <typename Wanted>
std::string kinds_that(Wanted wanted) {
  std::vector<std::string_view> names;
  for (const std::string_view name : model_kinds().names())
    if (const auto kind = model_kinds().make(name);
        kind->plugin() == nullptr && !kind->has_values() && wanted(*kind))
      names.push_back(name);
  if (names.empty()) return "another kind of model";
  if (names.size() == 1) return fmt::format("kind: {}", names[0]);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("kind: {} or {}", fmt::join(names, ", "), last);
}

}  // namespace

KindTable<ModelKind>& model_kinds() {
  static KindTable<ModelKind> table("kind of model", {});
  return table;
}

void ModelOptions::describe(Keys& keys) {
  keys.require("kind", "kind: mlp");
  keys.kind("kind", kind, model_kinds(), "which network is trained");
  if (kind != nullptr && kind->plugin() != nullptr && !keys.wants_all())
    return keys.refuse({"compute", "frozen", "weights", "fresh"},
                       "kind: plugin, whose library computes");
  keys.choice("compute", compute,
              {{"float32", ComputeKind::kFloat32}, {"bfloat16", ComputeKind::kBfloat16}},
              "what gradients are computed in; parameters, gradients and the loss stay float32");
  keys.texts("frozen", frozen, kPrefixes,
             "parameters or modules that stay as they are: neither sent nor stepped");
  keys.path("weights", weights, "safetensors that the run starts from, with torch's names");
  const bool has_values = !weights.empty() || (kind != nullptr && kind->has_values());
  if (!has_values) keys.refuse({"fresh"}, "a model without weights, which is drawn anew anyway");
  keys.texts(
      "fresh", fresh, kPrefixes,
      "parameters or modules that are drawn anew, whatever `weights` or the model's file holds");
  const std::string* both = fresh_and_frozen(*this);
  keys.check(both == nullptr, "fresh",
             fmt::format("{} is fresh and frozen: what is drawn anew would never learn",
                         quoted(both == nullptr ? "" : *both)),
             "Name it in one of the two lists");
}

std::optional<Misfit> find_misfit(const ModelKind& model, bool data_holds_text,
                                  std::optional<std::int64_t> image_side) {
  if (data_holds_text && !model.reads_tokens())
    return Misfit{"the model is for images and features, but the data is text",
                  "Write " + kinds_that([](const ModelKind& kind) { return kind.reads_tokens(); })};
  if (!data_holds_text && model.reads_tokens())
    return Misfit{"the model is for text, but the data holds images or features",
                  "Write " + kinds_that([](const ModelKind& kind) {
                    return !kind.reads_tokens();
                  }) + ", or data: {kind: text, path: ...}"};
  if (data_holds_text || !image_side || *image_side >= model.smallest_side()) return std::nullopt;
  if (*image_side == 1)
    return Misfit{fmt::format("kind: {} is for images, but the data holds rows of numbers",
                              model.kind_name()),
                  "Write " + kinds_that([](const ModelKind& kind) {
                    return !kind.reads_tokens() && kind.smallest_side() == 1;
                  })};
  return Misfit{fmt::format("kind: {} with these keys wants images of at least {} pixels a side, "
                            "and the data's have {}",
                            model.kind_name(), model.smallest_side(), *image_side),
                model.remedy_for_small_images(*image_side)};
}

}  // namespace kimesh
