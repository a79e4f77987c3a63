#include <algorithm>
#include <array>

#include "kimesh/kernels/quantise.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantise_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"
#include "simd_quantisers.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

template <typename Visit>
HWY_INLINE auto visit(BlockFormat blocks, Visit&& with) {
  if (blocks == BlockFormat::kSign) return with(Sign{});
  if (blocks == BlockFormat::kSign2) return with(Sign2{});
  if (blocks == BlockFormat::kInt8) return with(Int8{});
  if (blocks == BlockFormat::kInt4) return with(Int4{});
  return with(Bfloat16{});
}

// Calls body(first element in the chunk, number of elements, bytes of the block) for every block of
// the chunk that begins at element `begin`.
template <typename Body>
HWY_INLINE void for_blocks(BlockFormat blocks, std::size_t begin, std::size_t size, Body&& body) {
  const std::size_t whole = block_elements(blocks);
  const std::size_t stride = scale_bytes(blocks) + code_bytes(blocks, whole);
  for (std::size_t at = 0; at < size; at += whole)
    body(at, std::min(whole, size - at), (begin + at) / whole * stride);
}

// A copy of a chunk, padded with zeros.
HWY_INLINE const float* padded(const float* x, std::size_t size, std::array<float, kChunk>& room) {
  if (size == kChunk) return x;
  room = {};
  std::copy_n(x, size, room.begin());
  return room.data();
}

HWY_INLINE void add_squares(const float* x, SquareSum& sum) {
  for (std::size_t group = 0; group < kChunk; group += kGroup)
    for (std::size_t j = 0; j < kGroup; j += kLanes) sum.add(hn::LoadU(kFloats, x + group + j), j);
}

// x − y, padded with zeros.
HWY_INLINE void subtract_chunk(const float* x, const float* y, std::size_t size, float* out) {
  if (size < kChunk) std::fill_n(out, kChunk, 0.0f);
  std::size_t j = 0;
  for (; j + kLanes <= size; j += kLanes)
    hn::Store(hn::Sub(hn::LoadU(kFloats, x + j), hn::LoadU(kFloats, y + j)), kFloats, out + j);
  for (; j < size; ++j) out[j] = x[j] - y[j];
}

// `sums` are the partial sums of the energy of the target, then those of the difference.
void quantise_all(BlockFormat blocks, Rounding rounding, const float* target, const float* estimate,
                  std::size_t size, Code* out, double* sums) {
  visit(blocks, [&]<typename Format>(Format) HWY_ATTR {
    SquareSum wanted(sums), missing(sums + kPartialSums);
    Chunk difference;
    std::array<float, kChunk> room;
    difference.levels = {};
    for (std::size_t begin = 0; begin < size; begin += kChunk) {
      const std::size_t count = std::min(kChunk, size - begin);
      subtract_chunk(target + begin, estimate + begin, count, difference.values.data());
      add_squares(padded(target + begin, count, room), wanted);
      add_squares(difference.values.data(), missing);
      for_blocks(blocks, begin, count,
                 [&](std::size_t at, std::size_t elements, std::size_t offset) HWY_ATTR {
                   Format::encode(difference.values.data() + at, elements, rounding, out + offset,
                                  difference);
                 });
    }
    wanted.store(sums);
    missing.store(sums + kPartialSums);
  });
}

bool check_all(BlockFormat blocks, const Code* in, std::size_t size) {
  return visit(blocks, [&]<typename Format>(Format) HWY_ATTR {
    Chunk scratch;
    bool correct = true;
    for_blocks(blocks, 0, size,
               [&](std::size_t, std::size_t elements, std::size_t offset)
                   HWY_ATTR { correct &= Format::is_correct(in + offset, elements, scratch); });
    return correct;
  });
}

// Sums nothing where `target` and `sums` are null.
void add_all(BlockFormat blocks, const Code* in, const float* target, float* estimate,
             std::size_t size, double* sums) {
  visit(blocks, [&]<typename Format>(Format) HWY_ATTR {
    constexpr double kNothing[kPartialSums] = {};
    SquareSum left(kNothing);
    Chunk decoded;
    for (std::size_t begin = 0; begin < size; begin += kChunk) {
      const std::size_t count = std::min(kChunk, size - begin);
      for_blocks(blocks, begin, count,
                 [&](std::size_t at, std::size_t elements, std::size_t offset) HWY_ATTR {
                   Format::decode(in + offset, elements, decoded, decoded.values.data() + at);
                 });
      float* e = estimate + begin;
      for (std::size_t j = 0; j < count; ++j) e[j] += decoded.values[j];
      if (target == nullptr) continue;
      subtract_chunk(target + begin, e, count, decoded.values.data());
      add_squares(decoded.values.data(), left);
    }
    if (target != nullptr) left.store(sums);
  });
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(quantise_all);
HWY_EXPORT(check_all);
HWY_EXPORT(add_all);

constexpr std::size_t kPartialSums = 8;

double total(const double* sums) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

const std::uint8_t* codes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

Energies quantise(BlockFormat blocks, Rounding rounding, std::span<const float> target,
                  std::span<const float> estimate, std::span<std::byte> bytes) {
  KIMESH_CHECK(target.size() == estimate.size(), "a difference has the size of both sides");
  KIMESH_CHECK(bytes.size() == quantised_bytes(blocks, target.size()), "room for all blocks");
  double sums[2 * kPartialSums] = {};
  HWY_DYNAMIC_DISPATCH(quantise_all)
  (blocks, rounding, target.data(), estimate.data(), target.size(),
   reinterpret_cast<std::uint8_t*>(bytes.data()), sums);
  return {total(sums), total(sums + kPartialSums)};
}

bool is_quantised(BlockFormat blocks, std::span<const std::byte> bytes, std::size_t size) {
  return bytes.size() == quantised_bytes(blocks, size) &&
         HWY_DYNAMIC_DISPATCH(check_all)(blocks, codes(bytes), size);
}

void add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                   std::span<float> estimate) {
  HWY_DYNAMIC_DISPATCH(add_all)
  (blocks, codes(bytes), nullptr, estimate.data(), estimate.size(), nullptr);
}

double add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                     std::span<const float> target, std::span<float> estimate) {
  double sums[kPartialSums] = {};
  if (estimate.empty()) return 0;
  HWY_DYNAMIC_DISPATCH(add_all)
  (blocks, codes(bytes), target.data(), estimate.data(), estimate.size(), sums);
  return total(sums);
}

}  // namespace kimesh::kernels
#endif
