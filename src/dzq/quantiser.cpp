#include <algorithm>
#include <bit>
#include <cmath>

#include "message.h"

namespace kimesh::dzq {
namespace {

constexpr int kStepExponent = -157;
constexpr std::uint32_t kStepsAnOctave = 256;

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

Quantiser::Quantiser(const Head& head, std::uint32_t shift)
    : step_(std::ldexp(step_of(head.step), -static_cast<int>(shift))),
      inverse_(1 / step_),
      dead_zone_(step_ * head.dead_zone / 16),
      relative_dead_zone_(head.dead_zone / 16.0),
      unit_(step_ / 32) {
  offsets_.fill(2.0 * head.dead_zone);
  if (head.rounding == Rounding::kTowardsZero) return;
  const std::uint32_t first = 2 * head.centroids[0] + 1, second = 2 * head.centroids[1] + 1;
  offsets_[0] += first;
  offsets_[1] += second;
  offsets_[2] += (second + 16.0) / 2;
}

std::uint32_t Quantiser::level(float magnitude) const {
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
  const Quantiser own = *this;  // a copy: the compiler sees that no mark aliases it
  for (std::uint32_t& bits : values) bits = own.level(magnitude(bits)) << 1 | bits >> 31;
}

double Quantiser::place(float magnitude, std::uint32_t level) const {
  return (double{magnitude} - dead_zone_) / step_ - level;
}

}  // namespace kimesh::dzq
