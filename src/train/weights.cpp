#include "kimesh/train/weights.h"

#include <algorithm>
#include <set>
#include <span>

#include "check_model.h"
#include "first_point.h"
#include "initialise.h"
#include "whole_model.h"

namespace kimesh {
namespace {

Error does_not_fit(const LayoutLayer& layer, const std::string& what) {
  return {ErrorCode::kUserInput, "the weights " + what + " '" + layer.name + "' of shape " +
                                     shape_text(layer.shape) +
                                     "; name another file, or, where it is the start of a run, "
                                     "add the layer to model.fresh, which draws it anew"};
}

}  // namespace

Result<std::vector<std::string>> start_from(const RunConfig& config, const NamedValues& tensors,
                                            TrainingData& data) {
  const Layout whole = whole_model(config, data).layout;
  std::vector<float> start = whole_first_point(config, whole, nullptr);
  std::set<std::string> unused;
  for (const LayoutLayer& tensor : tensors.layout.layers) unused.insert(tensor.name);
  for (const LayoutLayer& layer : whole.layers) {
    unused.erase(layer.name);
    if (is_named_by(layer.name, config.model.fresh)) continue;
    const auto found = std::ranges::find(tensors.layout.layers, layer.name, &LayoutLayer::name);
    if (found == tensors.layout.layers.end()) return does_not_fit(layer, "have no layer");
    if (found->shape != layer.shape)
      return does_not_fit(layer, "have shape " + shape_text(found->shape) + " in place of layer");
    std::ranges::copy(std::span(tensors.values).subspan(found->offset, found->size),
                      start.begin() + static_cast<std::ptrdiff_t>(layer.offset));
  }
  data.start = std::make_shared<const std::vector<float>>(std::move(start));
  return std::vector<std::string>(unused.begin(), unused.end());
}

NamedValues frozen_tensors(const RunConfig& config, const TrainingData& data) {
  const auto [whole, model] = whole_model(config, data);
  if (model.frozen.empty()) return {};
  NamedValues frozen{part_of(whole, model, true), {}};
  frozen.values.resize(frozen.layout.size());
  take_part(whole, whole_first_point(config, whole, data.start.get()), frozen.layout,
            frozen.values);
  return frozen;
}

std::vector<float> whole_first_point(const RunConfig& config, const Layout& whole,
                                     const std::vector<float>* start) {
  if (start != nullptr) return *start;
  std::vector<float> values(whole.size());
  initialise_parameters(*config.model.kind, whole, config.seed, values);
  return values;
}

}  // namespace kimesh
