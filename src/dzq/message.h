// The payload of a dzq message: its grammar, and the quantiser that its head describes.
//
//   dzq       = empty, where no element is sent; else head coded
//   head      = flags u16:step u8:dead_zone [u8:centroids] varint:count [segments]
//   flags     = u8: bit 0: values are at centroids, else at the inner edges of bins
//               bit 1: segments follow
//               bits 2-4 hold state_bytes - 1 of the entropy coder; all other bits are 0
//   step      = D = (256 + step % 256) * 2^(step / 256 - 157)
//   dead_zone = the dead zone ends at T = D * dead_zone / 16
//   segments  = varint:number, then for each segment varint:gap (from the end of the one before),
//               varint:length, u8:shift; D and T of its elements are divided by 2^shift
//   coded     = the entropy coded elements (rans.h): position, sign and level q >= 0 of each;
//               level q codes magnitudes in [T + q D, T + (q + 1) D)
//   varint    = LEB128, in as few bytes as possible
//
// A level decodes to the float32 at the share (2 c + 1) / 32 of its bin, rounded once. Without
// centroids the share is 0, the inner edge, so that no value is larger than the element it stands
// for. With centroids, c is the low half of the byte for level 0, and the high half for level 1.
// Levels above 1 decode half-way between the centroid of level 1 and the middle of the bin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/codec/setting.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/rans/rans.h"
#include "kimesh/util/result.h"

namespace kimesh::dzq {

inline constexpr std::uint32_t kStepCodes = 1 << 16;
inline constexpr std::uint32_t kShiftMax = 255;

[[nodiscard]] double step_of(std::uint32_t code);
// The code of the largest step that is at most `step`; the first or last code where `step` is out
// of range. Requires a finite step > 0.
[[nodiscard]] std::uint32_t step_code_of(double step);

// A run of elements with a finer quantiser.
struct Segment {
  std::size_t begin = 0, end = 0;
  std::uint32_t shift = 0;  // 1 to kShiftMax
};

struct Head {
  Rounding rounding = Rounding::kTowardsZero;
  std::uint32_t step = 0;                    // its code
  std::uint32_t dead_zone = 0;               // 1 to 255, in sixteenths of the step
  std::array<std::uint32_t, 2> centroids{};  // 0 to 15; for kNearest
  std::vector<Segment> segments;             // ascending, disjoint, none empty
};

// Maps magnitudes to levels and back, with one step.
class Quantiser {
 public:
  Quantiser(const Head& head, std::uint32_t shift);
  [[nodiscard]] double dead_zone() const { return dead_zone_; }
  [[nodiscard]] double step() const { return step_; }
  // The level of a magnitude of at least dead_zone().
  [[nodiscard]] std::uint32_t level(float magnitude) const;
  [[nodiscard]] float magnitude(std::uint32_t level) const {
    return static_cast<float>(unit_ * (32.0 * level + offsets_[level < 2 ? level : 2]));
  }
  // Replaces the bits of each value by its mark, 2 * level + sign. Requires magnitudes of at least
  // dead_zone().
  void mark(std::span<std::uint32_t> values) const;
  // Where in the level's bin a magnitude lies: 0 at the inner edge, 1 at the outer one.
  [[nodiscard]] double place(float magnitude, std::uint32_t level) const;

 private:
  double step_, inverse_, dead_zone_, relative_dead_zone_, unit_;
  std::array<double, 3> offsets_;
};

// The bytes of head and elements: what rans::measure says, rounded up. Requires a head and elements
// of the grammar, and at least one element.
[[nodiscard]] std::size_t measure(const Head& head, const rans::Elements& elements,
                                  std::size_t size, rans::Scratch& scratch);

// Appends head and elements. Requires that measure was last called with these elements and scratch.
void write(const Head& head, const rans::Elements& elements, rans::Scratch& scratch,
           std::vector<std::byte>& bytes);

// Decodes a payload into the entries that it adds. Errors: Malformed.
[[nodiscard]] Status read(std::span<const std::byte> bytes, std::size_t size,
                          kernels::Entries& entries);

// Decodes the levels of `elements` into `values`, in their order. Errors: Malformed where a value
// is not finite.
[[nodiscard]] Status dequantise(const Head& head, const rans::Elements& elements,
                                kernels::UninitializedVector<float>& values);

}  // namespace kimesh::dzq
