#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/topk.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

// Below this size a sample is as long as the vector: all that is not zero is a candidate.
constexpr std::size_t kSampledMin = 4096;
constexpr std::size_t kSampleShare = 256, kSampleMin = 1024, kSampleMax = 65536;
constexpr std::size_t kLine = 16;     // floats of a cache line: fetched whole, so sampled whole
constexpr std::size_t kChunk = 4096;  // elements between two looks at the room for candidates
constexpr std::uint32_t kAnythingButZero = 1;
constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;

// Magnitudes order like their bits without the sign: 31 bits.
std::uint32_t key_of(float x) {
  return std::bit_cast<std::uint32_t>(x) & kMagnitudeBits;
}

struct Kth {
  std::uint32_t key = 0;   // the k-th largest
  std::size_t larger = 0;  // how many keys are above it
};

// Radix selection from the top digit down: three passes whatever the ties. 1 <= k <= keys.size().
Kth kth_largest(std::span<const std::uint32_t> keys, std::size_t k) {
  Kth found;
  std::uint32_t shift = 31;
  for (const std::uint32_t bits : {11u, 10u, 10u}) {
    const std::uint32_t prefix_shift = shift;
    shift -= bits;
    std::array<std::size_t, 2048> counts{};
    for (const std::uint32_t key : keys)
      if (key >> prefix_shift == found.key) ++counts[(key >> shift) & ((1u << bits) - 1)];
    std::uint32_t digit = (1u << bits) - 1;
    while (found.larger + counts[digit] < k) found.larger += counts[digit--];
    found.key = found.key << bits | digit;
  }
  return found;
}

// About n / 256 keys, as whole cache lines. Their places are spread evenly, each shifted by a
// multiplicative hash, so that rows of one length do not meet the same column again and again.
void take_sample(std::span<const float> x, std::vector<std::uint32_t>& sample) {
  const std::size_t wanted = std::clamp(x.size() / kSampleShare, kSampleMin, kSampleMax);
  const std::size_t stride = x.size() / wanted;  // in lines, because wanted counts elements
  sample.clear();
  for (std::size_t q = 0; q < wanted / kLine; ++q) {
    const auto hash = static_cast<std::uint32_t>(q) * 2654435761u;  // Knuth, TAOCP 3, 6.4
    const std::size_t line = q * stride + (hash >> 8) % stride;
    for (std::size_t j = 0; j < kLine; ++j) sample.push_back(key_of(x[line * kLine + j]));
  }
}

// A key that probably no more than a few beyond k elements reach. Six standard deviations of a
// random sample, because neighbours in a line are alike; being wrong costs time only.
std::uint32_t lower_bracket(std::span<const std::uint32_t> sample, double rank) {
  const double safe_rank = std::ceil(rank + 6 * std::sqrt(rank) + 6);
  if (safe_rank >= static_cast<double>(sample.size())) return kAnythingButZero;
  return std::max(kth_largest(sample, static_cast<std::size_t>(safe_rank)).key, kAnythingButZero);
}

// Four lanes that GCC and Clang put into one register of any CPU; plain loops over 16 elements stay
// scalar with GCC 12, three times slower.
using Lanes = std::uint32_t __attribute__((vector_size(16)));

// Whether any of the 16 elements reaches `lower`: the sign bit of lower - 1 - key.
bool any_reaches(const float* x, std::uint32_t lower) {
  std::array<Lanes, 4> keys;
  static_assert(sizeof(keys) == kLine * sizeof(float));
  std::memcpy(&keys, x, sizeof(keys));
  for (Lanes& key : keys) key = (lower - 1) - (key & kMagnitudeBits);
  const Lanes below = (keys[0] | keys[1]) | (keys[2] | keys[3]);
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(below);
  return ((halves[0] | halves[1]) & 0x8000000080000000) != 0;
}

// Collects positions and keys of all elements that reach `lower`; returns how many.
std::size_t filter(std::span<const float> x, std::uint32_t lower, TopkScratch& scratch) {
  std::size_t count = 0;
  for (std::size_t chunk = 0; chunk < x.size(); chunk += kChunk) {
    if (scratch.keys.size() < count + kChunk) {
      scratch.keys.resize(std::max(2 * scratch.keys.size(), count + kChunk));
      scratch.candidates.resize(scratch.keys.size());
    }
    std::uint32_t* keys = scratch.keys.data();
    std::uint32_t* places = scratch.candidates.data();
    const std::size_t chunk_end = std::min(chunk + kChunk, x.size());
    for (std::size_t i = chunk; i < chunk_end; i += kLine) {
      const std::size_t size = std::min(kLine, chunk_end - i);
      if (size == kLine && !any_reaches(&x[i], lower)) continue;
      for (std::size_t j = i; j < i + size; ++j) {  // writes always, keeps what reaches
        const std::uint32_t key = key_of(x[j]);
        keys[count] = key;
        places[count] = static_cast<std::uint32_t>(j);
        count += key >= lower ? 1 : 0;
      }
    }
  }
  return count;
}

// Filters with a bracket that lets at least min(k, all that is not zero) elements through.
std::size_t collect_candidates(std::span<const float> x, std::size_t k, TopkScratch& scratch) {
  if (x.size() < kSampledMin) return filter(x, kAnythingButZero, scratch);
  take_sample(x, scratch.sample);
  double rank = static_cast<double>(k) * static_cast<double>(scratch.sample.size()) /
                static_cast<double>(x.size());
  for (std::uint32_t previous = std::numeric_limits<std::uint32_t>::max();;) {
    std::uint32_t lower = lower_bracket(scratch.sample, rank);
    if (lower == previous) lower = kAnythingButZero;  // ties: a wider rank would not get lower
    const std::size_t count = filter(x, lower, scratch);
    if (count >= k || lower == kAnythingButZero) return count;
    previous = lower;
    rank = 16 * rank + 64;
  }
}

}  // namespace

void select_topk(std::span<const float> difference, std::size_t k, std::uint32_t index_base,
                 std::vector<std::uint32_t>& indices, TopkScratch& scratch) {
  KIMESH_CHECK(difference.size() + index_base <= std::numeric_limits<std::uint32_t>::max(),
               "positions fit 32 bits");
  if (k == 0 || difference.empty()) return;
  const std::size_t count = collect_candidates(difference, k, scratch);
  const std::span keys(scratch.keys.data(), count);
  Kth kth{kAnythingButZero - 1, count};
  if (count > k) kth = kth_largest(keys, k);
  std::size_t ties = count > k ? k - kth.larger : 0;
  std::size_t end = indices.size();
  indices.resize(end + std::min(count, k) + 1);  // one more: the last write may be dropped again
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t key = keys[i];
    const bool tied = key == kth.key && ties > 0;
    ties -= tied ? 1 : 0;
    indices[end] = index_base + scratch.candidates[i];
    end += key > kth.key || tied ? 1 : 0;
  }
  indices.resize(end);
}

}  // namespace kimesh::kernels
