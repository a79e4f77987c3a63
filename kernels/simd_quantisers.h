// The formats of block quantisers, once for every instruction set: include it after simd_lanes.h.
// kernels/include/kimesh/kernels/quantise.h defines them.

// A guard that Highway's repeated inclusion opens again for each set.
#if defined(KIMESH_KERNELS_SIMD_QUANTISERS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KIMESH_KERNELS_SIMD_QUANTISERS_H_
#undef KIMESH_KERNELS_SIMD_QUANTISERS_H_
#else
#define KIMESH_KERNELS_SIMD_QUANTISERS_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "kimesh/kernels/quantise.h"
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

// The functions below work on `size` elements, and may touch more, up to a whole group (kGroup),
// which has to hold zeros there.

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

// Unpacks the bits of a byte into eight bytes of 0 or 1, the lowest into the first.
std::uint64_t scattered(Code bits) {
  const std::uint64_t own = bits * std::uint64_t{0x0101010101010101} & 0x8040201008040201u;
  return (own + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

// The mask of a register as bits, the first lane in the lowest.
HWY_INLINE std::uint64_t bits_of(Hits hits) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(kFloats, hits, bytes);
  std::uint64_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Calls body(register, its first element modulo kGroup) for all elements, and for the zeros that
// fill up the last group: the second number is a constant where the loop is unrolled.
template <typename Body>
HWY_INLINE void for_registers(const float* x, std::size_t size, Body&& body) {
  for (std::size_t group = 0; group < size; group += kGroup)
    for (std::size_t j = 0; j < kGroup; j += kLanes) body(hn::Load(kFloats, x + group + j), j);
}

// Writes a bit for each element, 1 where `is_one` says so of a register of elements.
// It has to be false for 0, which fills up the last word.
template <typename IsOne>
HWY_INLINE void write_bits(const float* x, std::size_t size, Code* out, IsOne&& is_one) {
  std::array<std::uint64_t, kChunk / 64> words;
  for (std::size_t i = 0; i < size; i += 64) {
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < 64; j += kLanes)
      word |= bits_of(is_one(hn::Load(kFloats, x + i + j))) << j;
    words[i / 64] = word;
  }
  std::memcpy(out, words.data(), (size + 7) / 8);
}

HWY_INLINE void write_signs(const float* x, std::size_t size, Code* out) {
  write_bits(x, size, out,
             [](Floats values) HWY_ATTR { return hn::Lt(values, hn::Zero(kFloats)); });
}

// Calls body(register of bits as integers of 0 and 1, first element) for all bits.
template <typename Body>
HWY_INLINE void read_bits(const Code* in, std::size_t size, Chunk& scratch, Body&& body) {
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t bytes = scattered(in[i / 8]);
    std::memcpy(scratch.levels.data() + i, &bytes, sizeof(bytes));
  }
  for (std::size_t j = 0; j < size; j += kLanes)
    body(hn::PromoteTo(kIntegers, hn::LoadU(kBytes, scratch.levels.data() + j)), j);
}

HWY_INLINE Words sign_of_bit(Integers bit) {
  return hn::ShiftLeft<31>(hn::BitCast(kWords, bit));
}

template <typename Term>
double total_of(const PartedSum<Term>& parted) {
  double sums[kPartialSums];
  parted.store(sums);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
std::uint16_t mean_code(const PlainSum& sum, std::size_t count) {
  const double mean = total_of(sum) / static_cast<double>(count);
  return to_bfloat16(static_cast<float>(mean), Rounding::kNearest);
}

struct Sign {
  static void encode(const float* x, std::size_t size, Rounding, Code* out, Chunk&) {
    PlainSum magnitudes;
    for_registers(x, size, [&](Floats values, std::size_t position) HWY_ATTR {
      magnitudes.add(hn::Abs(values), position);
    });
    write16(out, mean_code(magnitudes, size));
    write_signs(x, size, out + 2);
  }
  static void decode(const Code* in, std::size_t size, Chunk& scratch, float* x) {
    const Words scale = hn::Set(kWords, std::uint32_t{read16(in)} << 16);
    read_bits(in + 2, size, scratch, [&](Integers bit, std::size_t j) HWY_ATTR {
      hn::Store(hn::BitCast(kFloats, hn::Or(scale, sign_of_bit(bit))), kFloats, x + j);
    });
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk&) {
    return read16(in) < kInfinityBits >> 16 && padding_is_clear(in[1 + (size + 7) / 8], size % 8);
  }
};

struct Sign2 {
  static void encode(const float* x, std::size_t size, Rounding, Code* out, Chunk&) {
    SquareSum squares;
    for_registers(x, size, [&](Floats values, std::size_t position) HWY_ATTR {
      squares.add(values, position);
    });
    const double mean_square = total_of(squares) / static_cast<double>(size);
    const Floats limits = hn::Set(kFloats, static_cast<float>(std::sqrt(mean_square)));
    PlainSum small, large;
    std::size_t count = 0;
    for_registers(x, size, [&](Floats values, std::size_t position) HWY_ATTR {
      const Floats magnitudes = hn::Abs(values);
      const Hits is_large = hn::Gt(magnitudes, limits);
      small.add(hn::IfThenZeroElse(is_large, magnitudes), position);
      large.add(hn::IfThenElseZero(is_large, magnitudes), position);
      count += hn::CountTrue(kFloats, is_large);
    });
    const std::uint16_t low = count < size ? mean_code(small, size - count) : 0;
    write16(out, low);
    write16(out + 2, count > 0 ? mean_code(large, count) : low);
    write_signs(x, size, out + 4);
    write_bits(x, size, out + 4 + code_bytes(BlockFormat::kSign, size),
               [&](Floats values) HWY_ATTR { return hn::Gt(hn::Abs(values), limits); });
  }
  static void decode(const Code* in, std::size_t size, Chunk& scratch, float* x) {
    const Words low = hn::Set(kWords, std::uint32_t{read16(in)} << 16);
    const Words high = hn::Set(kWords, std::uint32_t{read16(in + 2)} << 16);
    read_bits(in + 4, size, scratch, [&](Integers bit, std::size_t j) HWY_ATTR {
      hn::Store(hn::BitCast(kFloats, sign_of_bit(bit)), kFloats, x + j);
    });
    read_bits(in + 4 + code_bytes(BlockFormat::kSign, size), size, scratch,
              [&](Integers bit, std::size_t j) HWY_ATTR {
                const auto is_large = hn::Ne(hn::BitCast(kWords, bit), hn::Zero(kWords));
                const Words sign = hn::BitCast(kWords, hn::Load(kFloats, x + j));
                const Words value = hn::Or(hn::IfThenElse(is_large, high, low), sign);
                hn::Store(hn::BitCast(kFloats, value), kFloats, x + j);
              });
  }
  static bool is_correct(const Code* in, std::size_t size, Chunk&) {
    const std::size_t bytes = code_bytes(BlockFormat::kSign, size);
    return read16(in) <= read16(in + 2) && read16(in + 2) < kInfinityBits >> 16 &&
           padding_is_clear(in[3 + bytes], size % 8) &&
           padding_is_clear(in[3 + 2 * bytes], size % 8);
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

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KIMESH_KERNELS_SIMD_QUANTISERS_H_
