#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace kimesh {

// The element of rank quantile · (size − 1), rounded down, of the sorted values. Reorders the
// values. Requires at least one value, and a quantile from 0 to 1.
[[nodiscard]] inline double lower_quantile(std::span<double> values, double quantile) {
  const auto rank = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

// The median, or with an even number of values the lower of the middle two: of two times one may be
// a hiccup's, or of cold caches. Reorders the values. Requires at least one value.
[[nodiscard]] inline double lower_median(std::span<double> values) {
  return lower_quantile(values, 0.5);
}

}  // namespace kimesh
