#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "kimesh/kernels/vector_math.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector_math_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// `size` is a multiple of kGroup.
void add_squares(const float* x, std::size_t size, double* sums) {
  SquareSum sum(sums);
  for (std::size_t group = 0; group < size; group += kGroup)
    for (std::size_t j = 0; j < kGroup; j += kLanes) sum.add(hn::LoadU(kFloats, x + group + j), j);
  sum.store(sums);
}

// Whether all elements are finite. `size` is a multiple of kGroup.
bool all_finite(const float* x, std::size_t size) {
  const Words infinity = hn::Set(kWords, 0x7f800000u), magnitude = hn::Set(kWords, 0x7fffffffu);
  Words most = hn::Zero(kWords);
  for (std::size_t j = 0; j < size; j += kLanes)
    most = hn::Max(most, hn::And(hn::BitCast(kWords, hn::LoadU(kFloats, x + j)), magnitude));
  return hn::AllTrue(kWords, hn::Lt(most, infinity));
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(add_squares);
HWY_EXPORT(all_finite);

constexpr std::size_t kGroup = 64, kPartialSums = 8;
constexpr std::size_t kBlock = 2048;
static_assert(kBlock % kGroup == 0);

// The elements behind the last whole group, padded with zeros.
std::array<float, kGroup> rest_of(std::span<const float> x) {
  std::array<float, kGroup> rest{};
  std::ranges::copy(x.subspan(x.size() / kGroup * kGroup), rest.begin());
  return rest;
}

using PartialSums = std::array<double, kPartialSums>;

// Only the last part of a vector may have a size that is no multiple of kGroup.
void add_energy(std::span<const float> x, PartialSums& sums) {
  const std::size_t whole = x.size() / kGroup * kGroup;
  HWY_DYNAMIC_DISPATCH(add_squares)(x.data(), whole, sums.data());
  if (whole < x.size()) HWY_DYNAMIC_DISPATCH(add_squares)(rest_of(x).data(), kGroup, sums.data());
}

double sum_of(const PartialSums& sums) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Fills `sum` with the part of the terms' sum that begins at `begin`.
void sum_of_block(std::span<const SumTerm> terms, std::size_t begin, std::span<float> sum) {
  const auto part_of = [&](const SumTerm& term) { return term.floats.subspan(begin, sum.size()); };
  const SumTerm& first = terms.front();
  if (first.factor)
    scale(*first.factor, part_of(first), sum);
  else
    std::ranges::copy(part_of(first), sum.begin());
  for (const SumTerm& term : terms.subspan(1)) {
    if (term.factor)
      add_scaled(*term.factor, part_of(term), sum);
    else
      add(part_of(term), sum);
  }
}

bool is_finite(float x) {
  constexpr std::uint32_t kInfinityBits = 0x7f800000;  // a NaN has more
  return (std::bit_cast<std::uint32_t>(x) & 0x7fffffff) < kInfinityBits;
}

}  // namespace

double energy(std::span<const float> x) {
  PartialSums sums{};
  add_energy(x, sums);
  return sum_of(sums);
}

double append_with_energy(std::span<const float> x, std::vector<std::byte>& bytes) {
  bytes.reserve(bytes.size() + x.size_bytes());
  PartialSums sums{};
  for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
    const auto block = x.subspan(begin, std::min(kBlock, x.size() - begin));
    add_energy(block, sums);
    const auto of_block = std::as_bytes(block);
    bytes.insert(bytes.end(), of_block.begin(), of_block.end());
  }
  return sum_of(sums);
}

double append_sum_with_energy(std::span<const SumTerm> terms, std::vector<std::byte>& bytes) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  const std::size_t size = terms.front().floats.size();
  bytes.reserve(bytes.size() + size * sizeof(float));
  PartialSums sums{};
  std::array<float, kBlock> space;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const auto block = std::span(space).first(std::min(kBlock, size - begin));
    sum_of_block(terms, begin, block);
    add_energy(block, sums);
    const auto of_block = std::as_bytes(block);
    bytes.insert(bytes.end(), of_block.begin(), of_block.end());
  }
  return sum_of(sums);
}

std::optional<std::size_t> first_not_finite(std::span<const float> x) {
  const auto finite = HWY_DYNAMIC_DISPATCH(all_finite);
  for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
    const auto block = x.subspan(begin, std::min(kBlock, x.size() - begin));
    const std::size_t whole = block.size() / kGroup * kGroup;
    if (finite(block.data(), whole) && finite(rest_of(block).data(), kGroup)) continue;
    const auto found = std::ranges::find_if_not(block, is_finite);
    return begin + static_cast<std::size_t>(found - block.begin());
  }
  return std::nullopt;
}

void scale(float a, std::span<const float> x, std::span<float> y) {
  for (std::size_t j = 0; j < y.size(); ++j) y[j] = a * x[j];
}

void add_scaled(float a, std::span<const float> x, std::span<float> y) {
  for (std::size_t j = 0; j < y.size(); ++j) y[j] += a * x[j];
}

void add(std::span<const float> x, std::span<float> y) {
  for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[j];
}

void subtract(std::span<const float> x, std::span<float> y) {
  for (std::size_t j = 0; j < y.size(); ++j) y[j] -= x[j];
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
