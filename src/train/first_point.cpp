#include "first_point.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kNamesShown = 40;  // enough for any model that a person freezes by hand

// The modules that hold parameters: "layers.1, layers.3".
std::string modules_of(const Layout& whole) {
  std::vector<std::string> modules;
  for (const LayoutLayer& layer : whole.layers) {
    const std::string module = layer.name.substr(0, layer.name.rfind('.'));
    if (modules.empty() || modules.back() != module) modules.push_back(module);
  }
  std::string text;
  for (std::size_t i = 0; i < modules.size() && i < kNamesShown; ++i)
    text += (i == 0 ? "" : ", ") + modules[i];
  return modules.size() > kNamesShown ? text + " and more" : text;
}

}  // namespace

bool is_named_by(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) {
    return name == prefix || name.starts_with(prefix + ".");
  });
}

Layout part_of(const Layout& whole, const ModelOptions& model, bool frozen) {
  Layout part;
  std::size_t offset = 0;
  for (const LayoutLayer& layer : whole.layers) {
    if (is_named_by(layer.name, model.frozen) != frozen) continue;
    part.layers.push_back(layer);
    part.layers.back().offset = offset;
    offset += layer.size;
  }
  return part;
}

Status check_prefixes(const ModelOptions& model, const Layout& whole) {
  for (const auto* prefixes : {&model.frozen, &model.fresh})
    for (const std::string& prefix : *prefixes)
      if (std::ranges::none_of(whole.layers, [&](const LayoutLayer& layer) {
            return is_named_by(layer.name, {prefix});
          }))
        return Error{ErrorCode::kUserInput,
                     std::string(prefixes == &model.frozen ? "model.frozen" : "model.fresh") +
                         " names '" + prefix + "', which the model does not have; it has " +
                         modules_of(whole)};
  if (part_of(whole, model, false).layers.empty())
    return Error{
        ErrorCode::kUserInput,
        "model.frozen names every layer that would be trained, so nothing is left to train; "
        "leave one out"};
  return ok_status();
}

void take_part(const Layout& whole, std::span<const float> values, const Layout& part,
               std::span<float> out) {
  KIMESH_CHECK(values.size() == whole.size() && out.size() == part.size(), "whole vectors");
  auto at = whole.layers.begin();
  for (const LayoutLayer& layer : part.layers) {
    at = std::find_if(at, whole.layers.end(),
                      [&](const LayoutLayer& other) { return other.name == layer.name; });
    KIMESH_CHECK(at != whole.layers.end(), "a part in the order of the whole");
    std::ranges::copy(values.subspan(at->offset, layer.size),
                      out.begin() + static_cast<std::ptrdiff_t>(layer.offset));
  }
}

}  // namespace kimesh
