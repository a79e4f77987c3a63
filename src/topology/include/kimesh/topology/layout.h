// How a model's parameters lie in one flat vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kimesh {

// One named parameter tensor. Row-major; a row is what one index of the first dimension holds.
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

  // One unnamed vector, as the quadratics have.
  static Layout vector(std::size_t size);
};

// Tensors by name, all in one vector.
struct NamedValues {
  Layout layout;
  std::vector<float> values;  // [layout.size()]
};

}  // namespace kimesh
