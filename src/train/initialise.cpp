#include "initialise.h"

#include <algorithm>
#include <cmath>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

// How the values of a layer are drawn: all `value`, or with `scale` from one of two distributions.
struct Draw {
  enum class Kind { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  double scale = 0;  // kUniform: ±scale; kNormal: standard deviation
  float value = 0;
};

Draw uniform(double fan_in) {
  return {Draw::Kind::kUniform, 1 / std::sqrt(fan_in)};
}

bool is_residual_projection(const std::string& name) {
  return name.starts_with("blocks.") &&
         (name.ends_with(".out_proj.weight") || name.ends_with(".linear2.weight"));
}

std::size_t residual_projections(const Layout& layout) {
  return static_cast<std::size_t>(std::ranges::count_if(
      layout.layers, [](const LayoutLayer& l) { return is_residual_projection(l.name); }));
}

Draw draw_of_weight(const Layout& layout, const LayoutLayer& layer) {
  const std::string& name = layer.name;
  if (layer.shape.size() == 1)
    return {Draw::Kind::kConstant, 0, name.ends_with(".bn2.weight") ? 0.0f : 1.0f};
  if (name == "embedding.weight") return {Draw::Kind::kNormal, 1};
  if (name == "tokens.weight" || name == "positions.weight") return {Draw::Kind::kNormal, 0.02};
  Draw draw = uniform(static_cast<double>(layer.row_size()));
  if (is_residual_projection(name))
    draw.scale /= std::sqrt(static_cast<double>(residual_projections(layout)));
  return draw;
}

void fill(const Draw& draw, Random random, std::span<float> values) {
  switch (draw.kind) {
    case Draw::Kind::kConstant:
      std::ranges::fill(values, draw.value);
      return;
    case Draw::Kind::kUniform:
      for (float& value : values)
        value = static_cast<float>((2 * random.uniform() - 1) * draw.scale);
      return;
    case Draw::Kind::kNormal:
      for (float& value : values) value = static_cast<float>(random.normal() * draw.scale);
  }
}

}  // namespace

void initialise_parameters(const Layout& layout, std::uint64_t seed, std::span<float> parameters) {
  KIMESH_CHECK(parameters.size() == layout.size(), "parameters of this layout");
  Draw draw;  // of the weight of the module that the loop is in
  for (std::uint32_t i = 0; i < layout.layers.size(); ++i) {
    const LayoutLayer& layer = layout.layers[i];
    if (layer.name.starts_with("lstm."))
      draw = uniform(static_cast<double>(layer.shape.front()) / 4);  // four gates of `hidden` rows
    else if (layer.name.ends_with("weight"))
      draw = draw_of_weight(layout, layer);
    else if (draw.kind == Draw::Kind::kConstant)
      draw.value = 0;
    fill(draw, Random(seed, 0, i, Purpose::kInitialParameters),
         parameters.subspan(layer.offset, layer.size));
  }
}

}  // namespace kimesh
