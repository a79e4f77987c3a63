#include <algorithm>
#include <bit>
#include <cmath>

#include "message.h"

namespace kimesh::dzq {
namespace {

constexpr int kStepExponent = -157;
constexpr std::uint32_t kStepsAnOctave = 256;

// The inner edges of fixed bins in sixteenths of T, for growth 0.
constexpr std::array<double, kFixedLevels> kSlowEdges = {16, 22, 32, 45, 64, 90, 128, 181};

}  // namespace

double step_of(std::uint32_t code) {
  return std::ldexp(static_cast<double>(kStepsAnOctave + code % kStepsAnOctave),
                    static_cast<int>(code / kStepsAnOctave) + kStepExponent);
}

std::uint32_t step_code_of(double step) {
  int exponent;
  const double fraction = std::frexp(step, &exponent);  // [1/2, 1)
  const int octave = exponent - 9 - kStepExponent;
  if (octave < 0) return 0;
  const auto steps = static_cast<std::uint32_t>(fraction * 2 * kStepsAnOctave) - kStepsAnOctave;
  return std::min(static_cast<std::uint32_t>(octave) * kStepsAnOctave + steps, kStepCodes - 1);
}

std::uint32_t centroid_code(double place) {
  return static_cast<std::uint32_t>(std::clamp(16 * place, 0.0, 15.0));
}

Quantiser::Quantiser(const Head& head, std::uint32_t shift)
    : fixed_(head.coding == Coding::kFixedWidth),
      step_(std::ldexp(step_of(head.step), -static_cast<int>(shift))),
      inverse_(1 / step_),
      dead_zone_(step_ * head.dead_zone / 16),
      relative_dead_zone_(head.dead_zone / 16.0),
      unit_(step_ / 32) {
  if (fixed_) make_fixed(head);
  offsets_.fill(2.0 * head.dead_zone);
  if (head.rounding == Rounding::kTowardsZero) return;
  const std::uint32_t first = 2 * head.centroids[0] + 1, second = 2 * head.centroids[1] + 1;
  offsets_[0] += first;
  offsets_[1] += second;
  offsets_[2] += (second + 16.0) / 2;
}

std::uint32_t Quantiser::even_level(float magnitude) const {
  constexpr double kMost = rans::kLevelMax;
  const double exact = magnitude, place = exact * inverse_ - relative_dead_zone_;
  const double bounded = place > kMost ? kMost : place < 0 ? 0 : place;
  const auto level = static_cast<std::int32_t>(bounded);
  // The product is rounded, and may have reached the next level.
  const std::int32_t over = dead_zone_ + step_ * level > exact ? 1 : 0;
  return static_cast<std::uint32_t>(std::max(level - over, 0));
}

void Quantiser::mark(std::span<std::uint32_t> values) const {
  const auto magnitude = [](std::uint32_t bits) { return std::abs(std::bit_cast<float>(bits)); };
  if (fixed_) {
    for (std::uint32_t& bits : values) bits = fixed_level(magnitude(bits)) << 1 | bits >> 31;
    return;
  }
  const Quantiser own = *this;  // a copy: the compiler sees that no mark aliases it
  for (std::uint32_t& bits : values) bits = own.even_level(magnitude(bits)) << 1 | bits >> 31;
}

void Quantiser::make_fixed(const Head& head) {
  for (std::size_t q = 0; q < kFixedLevels; ++q)
    edges_[q] = dead_zone_ * (head.growth == 0 ? kSlowEdges[q] / 16
                                               : static_cast<double>(1u << (head.growth * q)));
  edges_[kFixedLevels] = 2 * edges_[kFixedLevels - 1];
  for (std::size_t q = 0; q < kFixedLevels; ++q) {
    const double share = head.rounding == Rounding::kTowardsZero
                             ? 0
                             : (2 * head.centroids[q == 0 ? 0 : 1] + 1) / 32.0;
    fixed_magnitudes_[q] = static_cast<float>(edges_[q] + share * (edges_[q + 1] - edges_[q]));
  }
}

std::uint32_t Quantiser::fixed_level(float magnitude) const {
  std::uint32_t level = 0;
  for (std::size_t q = 1; q < kFixedLevels; ++q) level += double{magnitude} >= edges_[q] ? 1 : 0;
  return level;
}

double Quantiser::place(float magnitude, std::uint32_t level) const {
  if (!fixed_) return (double{magnitude} - dead_zone_) / step_ - level;
  return std::min((double{magnitude} - edges_[level]) / (edges_[level + 1] - edges_[level]), 1.0);
}

}  // namespace kimesh::dzq
