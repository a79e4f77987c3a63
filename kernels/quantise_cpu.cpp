#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kimesh/kernels/quantise.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantise_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

using Code = std::uint8_t;

inline constexpr hn::RebindToSigned<hn::ScalableTag<float>> kIntegers;
inline constexpr hn::Rebind<std::int8_t, hn::ScalableTag<float>> kBytes;
inline constexpr hn::Rebind<std::uint16_t, hn::ScalableTag<float>> kHalves;
using Integers = hn::Vec<decltype(hn::RebindToSigned<hn::ScalableTag<float>>())>;

constexpr std::size_t kChunk = 256;  // elements that stay in the first-level cache; whole blocks
static_assert(kChunk % kGroup == 0, "a chunk begins in lane 0 of sums");
constexpr float kInt8Max = 127, kInt4Max = 7;

// The numbers of a chunk. Places without an element hold 0 where the chunk was filled, and
// arbitrary numbers where it was decoded.
struct Chunk {
  alignas(64) std::array<float, kChunk> values;
  alignas(64) std::array<std::int8_t, kChunk> levels;
};

std::uint16_t read16(const Code* bytes) {
  std::uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}
void write16(Code* bytes, std::uint16_t value) {
  std::memcpy(bytes, &value, sizeof(value));
}

// The functions below work on `size` elements, and may touch more, up to whole registers.

float largest_of(const float* x, std::size_t size) {
  Words largest = hn::Zero(kWords);
  for (std::size_t j = 0; j < size; j += kLanes)
    largest = hn::Max(largest, hn::BitCast(kWords, hn::Abs(hn::Load(kFloats, x + j))));
  return std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(kWords, largest)));
}

// As level_of of quantise.h, with the sign of the element.
template <Rounding kRounding>
HWY_INLINE Integers signed_levels(Floats x, Floats scale, Floats level_max) {
  const Floats magnitude = hn::Abs(x), whole = hn::Set(kFloats, 12582912.0f);
  const Floats ratio = hn::Div(magnitude, scale);
  const Floats capped = hn::IfThenElse(hn::Lt(ratio, level_max), ratio, level_max);
  Integers level = hn::ConvertTo(kIntegers, capped);
  if (kRounding == Rounding::kNearest) {
    level = hn::ConvertTo(kIntegers, hn::Sub(hn::Add(capped, whole), whole));
    const Floats product = hn::Mul(hn::ConvertTo(kFloats, level), scale);
    const auto overflows = hn::Eq(product, hn::Set(kFloats, std::bit_cast<float>(kInfinityBits)));
    const Integers one = hn::Set(kIntegers, 1);
    level = hn::Sub(level, hn::IfThenElseZero(hn::RebindMask(kIntegers, overflows), one));
  }
  const auto below_zero = hn::RebindMask(kIntegers, hn::Lt(x, hn::Zero(kFloats)));
  return hn::IfThenElse(below_zero, hn::Neg(level), level);
}

template <Rounding kRounding>
void fill_levels(const float* x, std::size_t size, float scale, float level_max,
                 std::int8_t* levels) {
  const Floats scales = hn::Set(kFloats, scale), max = hn::Set(kFloats, level_max);
  for (std::size_t j = 0; j < size; j += kLanes) {
    const Integers level = signed_levels<kRounding>(hn::Load(kFloats, x + j), scales, max);
    hn::StoreU(hn::DemoteTo(kBytes, level), kBytes, levels + j);
  }
}

// Writes the scale of a block to its bytes, and the levels to the chunk.
void make_levels(const float* x, std::size_t size, float level_max, Rounding rounding, Code* out,
                 std::int8_t* levels) {
  const std::uint16_t code = level_scale(largest_of(x, size), level_max);
  write16(out, code);
  const float scale = from_bfloat16(code);
  if (!(scale > 0)) {
    std::memset(levels, 0, size + size % 2);  // an odd number has half a byte of padding
  } else if (rounding == Rounding::kNearest) {
    fill_levels<Rounding::kNearest>(x, size, scale, level_max, levels);
  } else {
    fill_levels<Rounding::kTowardsZero>(x, size, scale, level_max, levels);
  }
}

void multiply_levels(const std::int8_t* levels, std::size_t size, float scale, float* x) {
  const Floats scales = hn::Set(kFloats, scale);
  for (std::size_t j = 0; j < size; j += kLanes) {
    const Integers level = hn::PromoteTo(kIntegers, hn::LoadU(kBytes, levels + j));
    hn::Store(hn::Mul(hn::ConvertTo(kFloats, level), scales), kFloats, x + j);
  }
}

std::int32_t largest_level(const std::int8_t* levels, std::size_t size) {
  std::int32_t largest = 0;
  for (std::size_t j = 0; j < size; ++j) {
    const std::int32_t level = levels[j];
    largest = std::max(largest, level < 0 ? -level : level);
  }
  return largest;
}

// Checks that the scale is >= 0 and that the largest level times the scale is finite.
bool are_levels(std::uint16_t scale, std::int32_t largest, float level_max) {
  return scale >> 15 == 0 && static_cast<float>(largest) <= level_max &&
         magnitude_bits(from_bfloat16(scale)) < kInfinityBits &&
         magnitude_bits(static_cast<float>(largest) * from_bfloat16(scale)) < kInfinityBits;
}

// Whether the bits from `used` on are 0 in a last byte that is only partly used.
bool padding_is_clear(Code last, std::size_t used) {
  return used == 0 || last >> used == 0;
}

// The operations of a format on one block. `x` is aligned to a register. `is_correct` says whether
// a correct sender writes such a block.
struct Bfloat16 {
  static void encode(const float* x, std::size_t size, Rounding rounding, Code* out, Chunk&) {
    std::array<std::uint16_t, kChunk> codes;
    if (rounding == Rounding::kNearest) {
      for (std::size_t j = 0; j < size; ++j) codes[j] = to_bfloat16(x[j], Rounding::kNearest);
    } else {
      for (std::size_t j = 0; j < size; ++j) codes[j] = to_bfloat16(x[j], Rounding::kTowardsZero);
    }
    std::memcpy(out, codes.data(), size * sizeof(std::uint16_t));
  }
  static void decode(const Code* in, std::size_t size, Chunk&, float* x) {
    std::array<std::uint16_t, kChunk> codes;
    std::memcpy(codes.data(), in, size * sizeof(std::uint16_t));
    for (std::size_t j = 0; j < size; ++j) x[j] = from_bfloat16(codes[j]);
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk&) {
    std::uint32_t largest = 0;
    for (std::size_t j = 0; j < size; ++j)
      largest = std::max<std::uint32_t>(largest, read16(in + 2 * j) & 0x7fff);
    return largest < kInfinityBits >> 16;
  }
};

// Packs eight bytes of 0 or 1 into the bits of one byte, the first into the lowest; and back.
Code gathered(std::uint64_t bytes) {
  return static_cast<Code>(bytes * 0x0102040810204080u >> 56);
}
std::uint64_t scattered(Code bits) {
  const std::uint64_t own = bits * std::uint64_t{0x0101010101010101} & 0x8040201008040201u;
  return (own + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

struct Sign {
  static void encode(const float* x, std::size_t size, Rounding, Code* out, Chunk& scratch) {
    std::array<double, kPartialSums> sums{};
    for (std::size_t j = 0; j < size; j += kPartialSums)
      for (std::size_t l = 0; l < kPartialSums; ++l)
        sums[l] += static_cast<double>(std::bit_cast<float>(magnitude_bits(x[j + l])));
    const double sum =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    const auto mean = static_cast<float>(sum / static_cast<double>(size));
    write16(out, to_bfloat16(mean, Rounding::kNearest));
    const Integers one = hn::Set(kIntegers, 1);
    for (std::size_t j = 0; j < size; j += kLanes) {
      const auto below = hn::Lt(hn::Load(kFloats, x + j), hn::Zero(kFloats));
      const Integers bit = hn::IfThenElseZero(hn::RebindMask(kIntegers, below), one);
      hn::StoreU(hn::DemoteTo(kBytes, bit), kBytes, scratch.levels.data() + j);
    }
    for (std::size_t i = 0; i < size; i += 8) {  // zeros follow the last element
      std::uint64_t bytes;
      std::memcpy(&bytes, scratch.levels.data() + i, sizeof(bytes));
      const std::size_t there = std::min<std::size_t>(8, size - i);
      out[2 + i / 8] = static_cast<Code>(gathered(bytes) & (0xff >> (8 - there)));
    }
  }
  static void decode(const Code* in, std::size_t size, Chunk& scratch, float* x) {
    for (std::size_t i = 0; i < size; i += 8) {
      const std::uint64_t bytes = scattered(in[2 + i / 8]);
      std::memcpy(scratch.levels.data() + i, &bytes, sizeof(bytes));
    }
    const Words scale = hn::Set(kWords, std::uint32_t{read16(in)} << 16);
    for (std::size_t j = 0; j < size; j += kLanes) {
      const Integers bit = hn::PromoteTo(kIntegers, hn::LoadU(kBytes, scratch.levels.data() + j));
      const Words sign = hn::ShiftLeft<31>(hn::BitCast(kWords, bit));
      hn::Store(hn::BitCast(kFloats, hn::Or(scale, sign)), kFloats, x + j);
    }
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk&) {
    return read16(in) < kInfinityBits >> 16 && padding_is_clear(in[1 + (size + 7) / 8], size % 8);
  }
};

struct Int8 {
  static void encode(const float* x, std::size_t size, Rounding rounding, Code* out,
                     Chunk& scratch) {
    make_levels(x, size, kInt8Max, rounding, out, scratch.levels.data());
    std::memcpy(out + 2, scratch.levels.data(), size);
  }
  static void decode(const Code* in, std::size_t size, Chunk& scratch, float* x) {
    std::memcpy(scratch.levels.data(), in + 2, size);
    multiply_levels(scratch.levels.data(), size, from_bfloat16(read16(in)), x);
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk& scratch) {
    std::memcpy(scratch.levels.data(), in + 2, size);
    return are_levels(read16(in), largest_level(scratch.levels.data(), size), kInt8Max);
  }
};

struct Int4 {
  static void encode(const float* x, std::size_t size, Rounding rounding, Code* out,
                     Chunk& scratch) {
    make_levels(x, size, kInt4Max, rounding, out, scratch.levels.data());
    std::array<std::uint16_t, kChunk / 2> pairs;
    std::memcpy(pairs.data(), scratch.levels.data(), size + size % 2);
    for (std::size_t j = 0; j < (size + 1) / 2; ++j)
      out[2 + j] = static_cast<Code>((pairs[j] & 15) | (pairs[j] >> 4 & 0xf0));
    if (size % 2 == 1) out[2 + size / 2] &= 15;
  }
  static void expand(const Code* in, std::size_t size, Chunk& scratch) {
    std::array<std::uint16_t, kChunk / 2> pairs;
    for (std::size_t j = 0; j < (size + 1) / 2; ++j)
      pairs[j] = static_cast<std::uint16_t>((in[2 + j] & 15) | (in[2 + j] & 0xf0) << 4);
    std::memcpy(scratch.levels.data(), pairs.data(), size + size % 2);
    for (std::size_t j = 0; j < size; ++j)
      scratch.levels[j] = static_cast<std::int8_t>((scratch.levels[j] ^ 8) - 8);
  }
  static void decode(const Code* in, std::size_t size, Chunk& scratch, float* x) {
    expand(in, size, scratch);
    multiply_levels(scratch.levels.data(), size, from_bfloat16(read16(in)), x);
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk& scratch) {
    expand(in, size, scratch);
    return padding_is_clear(in[1 + (size + 1) / 2], 4 * (size % 2)) &&
           are_levels(read16(in), largest_level(scratch.levels.data(), size), kInt4Max);
  }
};

template <typename Visit>
HWY_INLINE auto visit(BlockFormat blocks, Visit&& with) {
  if (blocks == BlockFormat::kSign) return with(Sign{});
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
