#include <algorithm>
#include <cmath>

#include "kimesh/kernels/entries.h"

namespace kimesh::kernels {

void Entries::clear() {
  indices.clear();
  values.clear();
}
void Entries::resize(std::size_t size) {
  indices.resize(size);
  values.resize(size);
}

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

void remove_all(const Entries& removed, Entries& entries) {
  std::size_t left = 0, r = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t index = entries.indices[i];
    while (r < removed.size() && removed.indices[r] < index) ++r;
    entries.indices[left] = index;
    entries.values[left] = entries.values[i];
    left += r < removed.size() && removed.indices[r] == index ? 0 : 1;
  }
  entries.resize(left);
}

// From the end, so that nothing is overwritten before it has moved.
void merge(const Entries& more, Entries& entries) {
  std::size_t rest = entries.size(), m = more.size();
  entries.resize(rest + m);
  for (std::size_t out = entries.size(); m > 0;) {
    const bool from_more = rest == 0 || more.indices[m - 1] > entries.indices[rest - 1];
    const Entries& from = from_more ? more : entries;
    const std::size_t at = from_more ? --m : --rest;
    --out;
    entries.indices[out] = from.indices[at];
    entries.values[out] = from.values[at];
  }
}

}  // namespace kimesh::kernels
