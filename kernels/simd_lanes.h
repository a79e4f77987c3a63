// What the kernels build on, once for every instruction set: include it after
// kernels/simd_dispatch.h.

// A guard that Highway's repeated inclusion opens again for each set.
#if defined(KIMESH_KERNELS_SIMD_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KIMESH_KERNELS_SIMD_LANES_H_
#undef KIMESH_KERNELS_SIMD_LANES_H_
#else
#define KIMESH_KERNELS_SIMD_LANES_H_
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr hn::ScalableTag<float> kFloats;
inline constexpr hn::RebindToUnsigned<hn::ScalableTag<float>> kWords;
using Floats = hn::Vec<hn::ScalableTag<float>>;
using Words = hn::Vec<decltype(hn::RebindToUnsigned<hn::ScalableTag<float>>())>;
using Hits = hn::Mask<hn::ScalableTag<float>>;

inline constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());  // 1, 4, 8 or 16
// The elements of one iteration of a kernel's inner loop: a whole number of registers, of cache
// lines and of partial sums.
inline constexpr std::size_t kGroup = 64;
inline constexpr std::size_t kRegisters = 4;  // registers in one step of the loop
inline constexpr std::size_t kStep = kRegisters * kLanes;

inline constexpr std::size_t kPartialSums = 8;

// Σ f(x) in float64, element j in the partial sum j % 8: the same bits in any instruction set.
// `Term` adds f of a register of doubles to a partial sum.
template <typename Term>
class PartedSum {
 public:
#if HWY_TARGET == HWY_SCALAR
  using Doubles = hn::ScalableTag<double>;
#else
  using Half = hn::Half<hn::ScalableTag<float>>;
  using Doubles = hn::Rebind<double, Half>;
#endif
  static constexpr std::size_t kWide = hn::MaxLanes(Doubles());
  static constexpr std::size_t kParts = kPartialSums / kWide;

  HWY_INLINE PartedSum() {
    for (auto& part : parts_) part = hn::Zero(Doubles());
  }
  explicit HWY_INLINE PartedSum(const double* sums) {
    for (std::size_t p = 0; p < kParts; ++p) parts_[p] = hn::LoadU(Doubles(), sums + p * kWide);
  }
  HWY_INLINE void store(double* sums) const {
    for (std::size_t p = 0; p < kParts; ++p) hn::StoreU(parts_[p], Doubles(), sums + p * kWide);
  }
  // `position` is that of the first lane of x, modulo 8: a constant where the loop is unrolled.
  HWY_INLINE void add(Floats x, std::size_t position) {
    const std::size_t part = position / kWide % kParts;
#if HWY_TARGET == HWY_SCALAR
    add_part(hn::PromoteTo(Doubles(), x), part);
#else
    add_part(hn::PromoteTo(Doubles(), hn::LowerHalf(Half(), x)), part);
    add_part(hn::PromoteTo(Doubles(), hn::UpperHalf(Half(), x)), (part + 1) % kParts);
#endif
  }
  // Adds eight elements from memory, the first to the first partial sum.
  HWY_INLINE void add_lanes(const float* x) {
    constexpr hn::Rebind<float, Doubles> kWideFloats;
    for (std::size_t p = 0; p < kParts; ++p)
      add_part(hn::PromoteTo(Doubles(), hn::LoadU(kWideFloats, x + p * kWide)), p);
  }

 private:
  HWY_INLINE void add_part(hn::Vec<Doubles> x, std::size_t part) {
    parts_[part] = Term::added(x, parts_[part]);
  }
  hn::Vec<Doubles> parts_[kParts];
};

// The square of a float32 is exact in float64, so that a fused multiply-add rounds as the two
// operations do.
struct SquareTerm {
  template <typename V>
  static HWY_INLINE V added(V x, V sum) {
    return hn::MulAdd(x, x, sum);
  }
};
struct PlainTerm {
  template <typename V>
  static HWY_INLINE V added(V x, V sum) {
    return hn::Add(x, sum);
  }
};
using SquareSum = PartedSum<SquareTerm>;
using PlainSum = PartedSum<PlainTerm>;

// The lanes that `hits` names, packed to the front; what follows them is arbitrary. Highway's own
// Compress keeps its tables on the stack with g++ 12 and copies them there at every call.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::array<std::uint32_t, 256> kPackedLanes = [] {
  std::array<std::uint32_t, 256> table{};  // the number of a lane in every 4 bits
  for (std::uint32_t hits = 0; hits < 256; ++hits)
    for (std::uint32_t lane = 0, out = 0; lane < 8; ++lane)
      if ((hits >> lane & 1) != 0) table[hits] |= lane << (4 * out++);
  return table;
}();
HWY_INLINE auto packing_of(std::size_t bits) {
  alignas(32) static constexpr std::uint32_t kShifts[8] = {0, 4, 8, 12, 16, 20, 24, 28};
  const Words lanes = hn::Set(kWords, kPackedLanes[bits]) >> hn::Load(kWords, kShifts);
  return hn::IndicesFromVec(kWords, hn::And(lanes, hn::Set(kWords, 7u)));
}
#elif HWY_TARGET != HWY_AVX3 && HWY_TARGET != HWY_SCALAR
static_assert(kLanes == 4, "other registers need a table of their own");
inline constexpr std::array<std::array<std::uint32_t, 4>, 16> kPackedLanes = [] {
  std::array<std::array<std::uint32_t, 4>, 16> table{};
  for (std::uint32_t hits = 0; hits < 16; ++hits)
    for (std::uint32_t lane = 0, out = 0; lane < 4; ++lane)
      if ((hits >> lane & 1) != 0) table[hits][out++] = lane;
  return table;
}();
HWY_INLINE auto packing_of(std::size_t bits) {
  return hn::IndicesFromVec(kWords, hn::LoadU(kWords, kPackedLanes[bits].data()));
}
#endif

// Writes the lanes that `hits` names, of one or two registers, to the front of `first` and
// `second`. Stores whole registers; returns the number of lanes that count.
HWY_INLINE std::size_t store_hits(Hits hits, Words x, std::uint32_t* first) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SCALAR
  hn::StoreU(hn::Compress(x, hn::RebindMask(kWords, hits)), kWords, first);
  return hn::CountTrue(kFloats, hits);
#else
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(kFloats, hits, bits);
  hn::StoreU(hn::TableLookupLanes(x, packing_of(bits[0])), kWords, first);
  return static_cast<std::size_t>(std::popcount(bits[0]));
#endif
}
HWY_INLINE std::size_t store_hits(Hits hits, Words x, Floats y, std::uint32_t* first,
                                  float* second) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SCALAR
  hn::StoreU(hn::Compress(x, hn::RebindMask(kWords, hits)), kWords, first);
  hn::StoreU(hn::Compress(y, hits), kFloats, second);
  return hn::CountTrue(kFloats, hits);
#else
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(kFloats, hits, bits);
  const auto packing = packing_of(bits[0]);
  hn::StoreU(hn::TableLookupLanes(x, packing), kWords, first);
  const Words packed = hn::TableLookupLanes(hn::BitCast(kWords, y), packing);
  hn::StoreU(hn::BitCast(kFloats, packed), kFloats, second);
  return static_cast<std::size_t>(std::popcount(bits[0]));
#endif
}

}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KIMESH_KERNELS_SIMD_LANES_H_
