#include "src/compress/entries.h"

#include <algorithm>
#include <cmath>

namespace kimesh {

using kernels::Entries;

std::size_t count_reaching(float lower, const Entries& entries) {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries.values, [lower](float value) { return std::abs(value) >= lower; }));
}

std::size_t first_from(std::size_t position, const Entries& entries) {
  return static_cast<std::size_t>(std::ranges::lower_bound(entries.indices, position) -
                                  entries.indices.begin());
}

void drop_below(float lower, Entries& entries, std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < entries.size(); ++i) {
    if (!(std::abs(entries.values[i]) >= lower)) continue;
    entries.indices[kept] = entries.indices[i];
    entries.values[kept++] = entries.values[i];
  }
  entries.resize(kept);
}

void append(const Entries& from, std::size_t first, std::size_t last, Entries& to) {
  const std::size_t end = to.size();
  to.resize(end + last - first);
  const auto begin = static_cast<std::ptrdiff_t>(first), stop = static_cast<std::ptrdiff_t>(last);
  const auto at = static_cast<std::ptrdiff_t>(end);
  std::copy(from.indices.begin() + begin, from.indices.begin() + stop, to.indices.begin() + at);
  std::copy(from.values.begin() + begin, from.values.begin() + stop, to.values.begin() + at);
}

}  // namespace kimesh
