#include "kimesh/topology/layout.h"

namespace kimesh {

std::size_t LayoutLayer::row_size() const {
  std::size_t elements = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) elements *= static_cast<std::size_t>(shape[i]);
  return elements;
}

std::size_t Layout::size() const {
  return layers.empty() ? 0 : layers.back().offset + layers.back().size;
}

Layout Layout::vector(std::size_t size) {
  return {{LayoutLayer{"", {static_cast<std::int64_t>(size)}, 0, size}}};
}

}  // namespace kimesh
