#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/difference.h"
#include "kernels/topk.h"
#include "kernels/vector_math.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;

std::vector<float> difference_of(std::span<const float> target, std::span<const float> estimate) {
  KIMESH_CHECK(target.size() == estimate.size(), "a difference has the size of both sides");
  std::vector<float> difference(target.size());
  for (std::size_t j = 0; j < target.size(); ++j) difference[j] = target[j] - estimate[j];
  return difference;
}

}  // namespace

void Entries::clear() {
  indices.clear();
  values.clear();
}
void Entries::resize(std::size_t size) {
  indices.resize(size);
  values.resize(size);
}

bool Energies::finite() const {
  return std::isfinite(target) && std::isfinite(difference);
}
Energies& Energies::operator+=(const Energies& other) {
  target += other.target;
  difference += other.difference;
  return *this;
}

Energies collect(std::span<const float> target, std::span<const float> estimate, float lower,
                 std::uint32_t index_base, Entries& entries) {
  KIMESH_CHECK(lower > 0, "zeros are never collected");
  const std::vector<float> difference = difference_of(target, estimate);
  for (std::size_t j = 0; j < difference.size(); ++j) {
    if (!(std::abs(difference[j]) >= lower)) continue;
    entries.indices.push_back(index_base + static_cast<std::uint32_t>(j));
    entries.values.push_back(difference[j]);
  }
  return {energy(target), energy(difference)};
}

Energies collect_topk(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                      std::uint32_t index_base, Entries& entries, SelectScratch&) {
  const std::vector<float> difference = difference_of(target, estimate);
  TopkScratch scratch;
  const std::size_t before = entries.size();
  select_topk(difference, k, index_base, entries.indices, scratch);
  for (std::size_t i = before; i < entries.indices.size(); ++i)
    entries.values.push_back(difference[entries.indices[i] - index_base]);
  return {energy(target), energy(difference)};
}

void keep_largest(std::size_t k, Entries& entries, SelectScratch&) {
  TopkScratch scratch;
  std::vector<std::uint32_t> places;
  select_topk(entries.values, k, 0, places, scratch);
  for (std::size_t i = 0; i < places.size(); ++i) {
    entries.indices[i] = entries.indices[places[i]];
    entries.values[i] = entries.values[places[i]];
  }
  entries.resize(places.size());
}

void sample_magnitudes(std::span<const float> target, std::span<const float> estimate,
                       std::vector<std::uint32_t>& magnitude_bits) {
  constexpr std::size_t kLine = 16, kWholeMax = 4096, kShare = 256;
  magnitude_bits.clear();
  const std::size_t size = target.size();
  const bool whole = size < kWholeMax;
  const std::size_t wanted = std::clamp<std::size_t>(size / kShare, 1024, 65536);
  const std::size_t lines = whole ? (size + kLine - 1) / kLine : wanted / kLine;
  const std::size_t stride = whole ? 1 : size / wanted;
  for (std::size_t q = 0; q < lines; ++q) {
    const auto hash = static_cast<std::uint32_t>(q) * 2654435761u;  // Knuth, TAOCP 3, 6.4
    const std::size_t begin = (q * stride + (hash >> 8) % stride) * kLine;
    for (std::size_t j = begin; j < std::min(begin + kLine, size); ++j)
      magnitude_bits.push_back(std::bit_cast<std::uint32_t>(target[j] - estimate[j]) &
                               kMagnitudeBits);
  }
}

Added add_entries(std::span<const float> target, std::span<const std::uint32_t> indices,
                  std::span<const float> values, std::span<float> estimate) {
  Added added;
  for (std::size_t c = 0; c < indices.size(); ++c) {
    const std::uint32_t j = indices[c];
    const double before = static_cast<double>(target[j] - estimate[j]);
    estimate[j] += values[c];
    const double after = static_cast<double>(target[j]) - static_cast<double>(estimate[j]);
    added.removed += before * before;
    added.left += after * after;
  }
  return added;
}

}  // namespace kimesh::kernels
