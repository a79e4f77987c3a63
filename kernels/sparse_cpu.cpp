#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kimesh/kernels/sparse.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// Loads a register of numbers from any address.
HWY_INLINE Words words_at(const std::byte* bytes) {
#if HWY_TARGET == HWY_SCALAR
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return hn::Set(kWords, word);
#else
  constexpr hn::Repartition<std::uint8_t, decltype(kWords)> kBytes;
  return hn::BitCast(kWords, hn::LoadU(kBytes, reinterpret_cast<const std::uint8_t*>(bytes)));
#endif
}

// Whether each of `count` indices is above the one before it and below `end`, and each of `count`
// values is finite. `count` is a multiple of kStep. Requires an index below 2^32 - 1 before the
// first.
bool entries_correct(const std::byte* indices, const std::byte* values, std::size_t count,
                     std::uint32_t end) {
  constexpr std::size_t kAhead = 1024;  // bytes
  const Words magnitude = hn::Set(kWords, 0x7fffffffu), one = hn::Set(kWords, 1u);
  Words largest_index = hn::Zero(kWords), largest_magnitude = hn::Zero(kWords);
  auto ascend = hn::Eq(one, one);
  for (std::size_t i = 0; i < count; i += kStep) {
    const std::byte* const index = indices + i * sizeof(std::uint32_t);
    const std::byte* const value = values + i * sizeof(float);
    for (std::size_t ahead = 0; ahead < kStep * sizeof(float); ahead += 64) {
      hwy::Prefetch(index + kAhead + ahead);
      hwy::Prefetch(value + kAhead + ahead);
    }
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const std::size_t place = r * kLanes * sizeof(std::uint32_t);
      const Words own = words_at(index + place);
      const Words next = hn::Add(words_at(index + place - sizeof(std::uint32_t)), one);
      ascend = hn::And(ascend, hn::Eq(own, hn::Max(own, next)));
      largest_index = hn::Max(largest_index, own);
      largest_magnitude = hn::Max(largest_magnitude, hn::And(words_at(value + place), magnitude));
    }
  }
  const auto below = hn::Lt(largest_index, hn::Set(kWords, end));
  const auto finite = hn::Lt(largest_magnitude, hn::Set(kWords, 0x7f800000u));
  return hn::AllTrue(kWords, hn::And(ascend, hn::And(below, finite)));
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(entries_correct);

constexpr std::size_t kGroup = 64;

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t position) {
  T number;
  std::memcpy(&number, bytes.data() + position * sizeof(T), sizeof(T));
  return number;
}

bool is_finite(std::uint32_t bits) {
  constexpr std::uint32_t kInfinityBits = 0x7f800000;
  return (bits & 0x7fffffff) < kInfinityBits;
}

}  // namespace

bool all_entries_correct(std::span<const std::byte> indices, std::span<const std::byte> values,
                         std::size_t size) {
  KIMESH_CHECK(indices.size() == values.size(), "a value for each index");
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(size, 0xffffffff));
  const auto follows = [&](std::size_t i, std::size_t least) {
    const std::size_t index = number_at<std::uint32_t>(indices, i);
    return index >= least && index < end && is_finite(number_at<std::uint32_t>(values, i));
  };
  if (count == 0) return true;
  if (!follows(0, 0)) return false;  // checked alone, since no index is before it
  const std::size_t whole = (count - 1) / kGroup * kGroup;
  constexpr std::size_t kFirst = sizeof(std::uint32_t);
  if (!HWY_DYNAMIC_DISPATCH(entries_correct)(indices.data() + kFirst, values.data() + kFirst, whole,
                                             end))
    return false;
  for (std::size_t i = 1 + whole; i < count; ++i)
    if (!follows(i, std::size_t{number_at<std::uint32_t>(indices, i - 1)} + 1)) return false;
  return true;
}

std::optional<std::size_t> first_out_of_order(std::span<const std::byte> indices,
                                              std::size_t size) {
  std::size_t next = 0;  // the smallest index that may follow
  for (std::size_t i = 0; i < indices.size() / sizeof(std::uint32_t); ++i) {
    const std::size_t index = number_at<std::uint32_t>(indices, i);
    if (index < next || index >= size) return i;
    next = index + 1;
  }
  return std::nullopt;
}

std::optional<std::size_t> first_value_not_finite(std::span<const std::byte> values) {
  for (std::size_t i = 0; i < values.size() / sizeof(float); ++i)
    if (!is_finite(number_at<std::uint32_t>(values, i))) return i;
  return std::nullopt;
}

// Where cache lines hold several entries each, instructions cost as much as memory: indices are
// loaded in pairs, and prefetched as early as lines with few entries need.
void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                std::span<float> estimate) {
  constexpr std::size_t kAhead = 128, kUnrolled = 8;
  KIMESH_CHECK(indices.size() == values.size(), "a value for each index");
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  float* const out = estimate.data();
  const auto pair_at = [&](std::size_t i) {
    std::uint64_t pair;
    std::memcpy(&pair, indices.data() + i * sizeof(std::uint32_t), sizeof(pair));
    return pair;
  };
  const auto add = [&](std::size_t index, std::size_t i) {
    out[index] += number_at<float>(values, i);
  };
  std::size_t i = 0;
  for (; i + kAhead + kUnrolled <= count; i += kUnrolled) {
    for (std::size_t u = 0; u < kUnrolled; u += 2) {
      const std::uint64_t pair = pair_at(i + kAhead + u);
      __builtin_prefetch(out + (pair & 0xffffffff), 1);
      __builtin_prefetch(out + (pair >> 32), 1);
    }
    for (std::size_t u = 0; u < kUnrolled; u += 2) {
      const std::uint64_t pair = pair_at(i + u);
      add(pair & 0xffffffff, i + u);
      add(pair >> 32, i + u + 1);
    }
  }
  for (; i < count; ++i) add(number_at<std::uint32_t>(indices, i), i);
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
