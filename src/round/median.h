#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace kimesh {

// The median, or with an even number of values the lower of the middle two: of two times one may be
// a hiccup's, or of cold caches. Reorders the values. Requires one at least.
[[nodiscard]] inline double lower_median(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace kimesh
