// How a model's parameters lie in one flat vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kimesh {

// One named parameter tensor, row-major. A row is the part with one index of the first dimension.
struct LayoutLayer {
  std::string name;
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::size_t offset = 0;           // elements from the start of the flat vector
  std::size_t size = 0;             // elements
  [[nodiscard]] std::size_t row_size() const;
};

struct Layout {
  std::vector<LayoutLayer> layers;  // contiguous, in order
  [[nodiscard]] std::size_t size() const;

  // The layout of one unnamed vector, as the quadratics have.
  static Layout vector(std::size_t size);
};

// Named tensors in one flat vector.
struct NamedValues {
  Layout layout;
  std::vector<float> values;  // [layout.size()]
};

}  // namespace kimesh
