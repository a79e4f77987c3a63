// A dzq message: what its bytes say, and what the levels stand for.
//
//   dzq       = nothing, where nothing is sent; else head coded
//   dzq fixed = nothing, where nothing is sent; else head values gaps
//   head      = flags u16:step u8:dead_zone [u8:centroids] varint:count [segments]
//   flags     = u8: bit 0 values at centroids (else at the inner edges of bins), bit 1 segments
//               follow, bits 2-4 state_bytes - 1 of the entropy coder, or bits 2-3 the growth
//               of fixed bins, 0 to 2; else 0
//   step      = D = (256 + step % 256) * 2^(step / 256 - 157)
//   dead_zone = the dead zone ends at T = D * dead_zone / 16
//   segments  = varint:number, for each varint:gap (behind the last one) varint:length u8:shift;
//               there D and T are halved so often
//   coded     = rans.h: for each element that is sent its position, its sign and its level q >= 0,
//               which stands for magnitudes in [T + q D, T + (q + 1) D)
//   values    = 4 bits each, the lower half of a byte first: 2 * level + sign, a level of 0 to 7;
//               0 where a half is left. Level q stands for magnitudes in [T e(q), T e(q + 1)) with
//               e(q) = 2^(q/2) in sixteenths rounded down, 2^q, or 4^q, by growth, and the last one
//               for all above
//   gaps      = for each element as many bytes 255 as the gap in front of it has times 255, and a
//               byte with the rest
//   varint    = seven bits a byte, the lowest first, bit 7: more follow; no longer than need be
//
// A level becomes the float32 at (2 c + 1) / 32 of its bin, rounded once; the last fixed bin is as
// wide as T e(7). At the inner edge the share is 0, so that no value is over the one that it stands
// for. At centroids c is the low half of `centroids` for level 0, the high half for level 1 (fixed:
// and all above); for all above the place is half-way between this and the middle of the bin.
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

// How the levels are written: with as few bytes as possible, or in fixed widths, for links that are
// faster than the entropy coder.
enum class Coder : std::uint8_t { kEntropy, kFixedWidth };

inline constexpr std::uint32_t kStepCodes = 1 << 16;
inline constexpr std::uint32_t kShiftMax = 255;

[[nodiscard]] double step_of(std::uint32_t code);
// Of the largest step that is not over `step`, or the nearest. Requires step > 0, finite.
[[nodiscard]] std::uint32_t step_code_of(double step);

struct Segment {
  std::size_t begin = 0, end = 0;
  std::uint32_t shift = 0;  // 1 to kShiftMax
};

struct Head {
  Coder coder = Coder::kEntropy;
  std::uint32_t growth = 0;  // fixed widths
  Rounding rounding = Rounding::kTowardsZero;
  std::uint32_t step = 0;                    // a code
  std::uint32_t dead_zone = 0;               // 1 to 255
  std::array<std::uint32_t, 2> centroids{};  // 0 to 15; kNearest
  std::vector<Segment> segments;             // in order, apart, none empty
};

inline constexpr std::uint32_t kFixedLevels = 8, kGrowths = 3;

// Numbers to levels and back, with one step.
class Quantiser {
 public:
  Quantiser(const Head& head, std::uint32_t shift);
  [[nodiscard]] double dead_zone() const { return dead_zone_; }
  [[nodiscard]] double step() const { return step_; }
  // The level of a magnitude. Requires one of at least dead_zone().
  [[nodiscard]] std::uint32_t level(float magnitude) const {
    return fixed_ ? fixed_level(magnitude) : even_level(magnitude);
  }
  [[nodiscard]] float magnitude(std::uint32_t level) const {
    return fixed_ ? fixed_magnitudes_[level]
                  : static_cast<float>(unit_ * (32.0 * level + offsets_[level < 2 ? level : 2]));
  }
  // Of each value 2 * level + sign. Requires magnitudes of at least dead_zone().
  void mark(std::span<const float> values, std::span<std::uint32_t> marks) const;
  // How far in the level's bin a magnitude lies: 0 at its inner edge, 1 at its outer one.
  [[nodiscard]] double place(float magnitude, std::uint32_t level) const;

 private:
  [[nodiscard]] std::uint32_t even_level(float magnitude) const;
  [[nodiscard]] std::uint32_t fixed_level(float magnitude) const;
  void make_fixed(const Head& head);

  bool fixed_;
  double step_, inverse_, dead_zone_, relative_dead_zone_, unit_;
  std::array<double, 3> offsets_;
  std::array<double, kFixedLevels + 1> edges_{};
  std::array<float, kFixedLevels> fixed_magnitudes_{};
};

// How many bytes head and elements take: in fixed widths to the byte, else as rans::measure tells,
// and a byte for what it does not. Requires what the grammar says of them and at least one element.
[[nodiscard]] std::size_t measure(const Head& head, const rans::Elements& elements,
                                  std::size_t size, rans::Scratch& scratch);

// Appends them. Requires that `scratch` last measured these elements.
void write(const Head& head, const rans::Elements& elements, rans::Scratch& scratch,
           std::vector<std::byte>& bytes);

// What a message adds: entries. Errors: Malformed.
[[nodiscard]] Status read(Coder coder, std::span<const std::byte> bytes, std::size_t size,
                          kernels::Entries& entries);

// What the levels of `elements` stand for, in their order. Errors: Malformed where one is not
// finite.
[[nodiscard]] Status dequantise(const Head& head, const rans::Elements& elements,
                                kernels::Unfilled<float>& values);

}  // namespace kimesh::dzq
