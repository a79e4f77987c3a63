#include "initialise.h"

#include <algorithm>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

// Of what the kind has no draw of its own for.
InitialDraw draw_of_weight(const LayoutLayer& layer) {
  if (layer.shape.size() == 1) return InitialDraw::constant(1);
  return InitialDraw::uniform(static_cast<double>(layer.row_size()));
}

void fill(const InitialDraw& draw, Random random, std::span<float> values) {
  switch (draw.kind) {
    case InitialDraw::Kind::kConstant:
      std::ranges::fill(values, draw.value);
      return;
    case InitialDraw::Kind::kUniform:
      for (float& value : values)
        value = static_cast<float>((2 * random.uniform() - 1) * draw.scale);
      return;
    case InitialDraw::Kind::kNormal:
      for (float& value : values) value = static_cast<float>(random.normal() * draw.scale);
  }
}

}  // namespace

void initialise_parameters(const ModelKind& kind, const Layout& layout, std::uint64_t seed,
                           std::span<float> parameters) {
  KIMESH_CHECK(parameters.size() == layout.size(), "parameters of this layout");
  InitialDraw draw;  // of the weight of the module that the loop is in
  for (std::uint32_t i = 0; i < layout.layers.size(); ++i) {
    const LayoutLayer& layer = layout.layers[i];
    if (const auto own = kind.initial_draw(layer))
      draw = *own;
    else if (layer.name.ends_with("weight"))
      draw = draw_of_weight(layer);
    else if (draw.kind == InitialDraw::Kind::kConstant)
      draw.value = 0;
    fill(draw, Random(seed, 0, i, Purpose::kInitialParameters),
         parameters.subspan(layer.offset, layer.size));
  }
}

}  // namespace kimesh
