#include "src/train/initialise.h"

#include <algorithm>
#include <cmath>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"

namespace kimesh {

void initialise_parameters(const Layout& layout, std::uint64_t seed, std::span<float> parameters) {
  KIMESH_CHECK(parameters.size() == layout.size(), "parameters of this layout");
  double bound = 0;  // of the module that the loop is in; 0 in a norm
  for (std::uint32_t i = 0; i < layout.layers.size(); ++i) {
    const LayoutLayer& layer = layout.layers[i];
    const auto values = parameters.subspan(layer.offset, layer.size);
    const bool is_weight = layer.name.ends_with("weight");
    const bool is_norm = is_weight && layer.shape.size() == 1;
    if (is_weight) bound = is_norm ? 0 : 1 / std::sqrt(static_cast<double>(layer.row_size()));
    if (bound == 0) {
      std::fill(values.begin(), values.end(), is_weight ? 1.0f : 0.0f);
      continue;
    }
    Random random(seed, 0, i, Purpose::kInitialParameters);
    for (float& value : values) value = static_cast<float>((2 * random.uniform() - 1) * bound);
  }
}

}  // namespace kimesh
