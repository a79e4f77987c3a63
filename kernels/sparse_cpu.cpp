#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/sparse.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse_cpu.cpp"
#include "kernels/simd_dispatch.h"
#include "kernels/simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// One register of numbers, at any address.
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

// Whether none of `count` numbers, a multiple of kGroup, is as large as `end` or not above the one
// before it; there is one before the first.
bool in_order(const std::byte* numbers, std::size_t count, std::uint32_t end) {
  const Words limit = hn::Set(kWords, end);
  auto good = hn::Eq(limit, limit);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Words own = words_at(numbers + i * sizeof(std::uint32_t));
    const Words before = words_at(numbers + i * sizeof(std::uint32_t) - sizeof(std::uint32_t));
    good = hn::And(good, hn::And(hn::Lt(before, own), hn::Lt(own, limit)));
  }
  return hn::AllTrue(kWords, good);
}

// Whether none of `count` numbers, a multiple of kGroup, is the bits of NaN or infinity.
bool all_values_finite(const std::byte* numbers, std::size_t count) {
  const Words magnitude = hn::Set(kWords, 0x7fffffffu);
  Words most = hn::Zero(kWords);
  for (std::size_t i = 0; i < count; i += kLanes)
    most = hn::Max(most, hn::And(words_at(numbers + i * sizeof(float)), magnitude));
  return hn::AllTrue(kWords, hn::Lt(most, hn::Set(kWords, 0x7f800000u)));
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(in_order);
HWY_EXPORT(all_values_finite);

constexpr std::size_t kGroup = 64;
constexpr std::size_t kChunk = 1024;  // numbers that are looked at one by one where one is wrong

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

std::optional<std::size_t> first_out_of_order(std::span<const std::byte> indices,
                                              std::size_t size) {
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(size, 0xffffffff));
  const auto good = HWY_DYNAMIC_DISPATCH(in_order);
  std::size_t next = 0;  // the least that may follow
  for (std::size_t i = 0; i < count;) {
    const std::size_t whole = std::min(kChunk, (count - i) / kGroup * kGroup);
    if (i > 0 && whole > 0 && good(indices.data() + i * sizeof(std::uint32_t), whole, end)) {
      i += whole;
      next = std::size_t{number_at<std::uint32_t>(indices, i - 1)} + 1;
      continue;
    }
    // The first alone, since nothing is before it; the last few; and where something is wrong.
    const std::size_t stop = i == 0 ? 1 : whole > 0 ? i + whole : count;
    for (; i < stop; ++i) {
      const std::size_t index = number_at<std::uint32_t>(indices, i);
      if (index < next || index >= size) return i;
      next = index + 1;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> first_value_not_finite(std::span<const std::byte> values) {
  const std::size_t count = values.size() / sizeof(float);
  const auto good = HWY_DYNAMIC_DISPATCH(all_values_finite);
  for (std::size_t i = 0; i < count;) {
    const std::size_t whole = std::min(kChunk, (count - i) / kGroup * kGroup);
    const std::size_t stop = whole > 0 ? i + whole : count;
    if (whole > 0 && good(values.data() + i * sizeof(float), whole)) i = stop;
    for (; i < stop; ++i)
      if (!is_finite(number_at<std::uint32_t>(values, i))) return i;
  }
  return std::nullopt;
}

void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                std::span<float> estimate) {
  constexpr std::size_t kAhead = 32;
  KIMESH_CHECK(indices.size() == values.size(), "a value for each index");
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  const auto add = [&](std::size_t i) {
    estimate[number_at<std::uint32_t>(indices, i)] += number_at<float>(values, i);
  };
  std::size_t i = 0;
  for (; i + kAhead < count; ++i) {
    __builtin_prefetch(&estimate[number_at<std::uint32_t>(indices, i + kAhead)], 1);
    add(i);
  }
  for (; i < count; ++i) add(i);
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
