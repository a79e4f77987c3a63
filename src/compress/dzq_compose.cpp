#include "src/compress/dzq_compose.h"

#include <algorithm>
#include <cmath>

#include "src/compress/dzq_estimates.h"

namespace kimesh::dzq {

namespace {

// A dead zone of T leaves an element at T out for the bits that it would take where that costs as
// much as bits do elsewhere: T^2 - (T - r)^2 = b D^2 ln(2) / 6, with r 0.42 D above T. Inner edges
// lose so much within bins that finer bins beside a dead zone of 1.25 D are best at every rate.
constexpr std::uint32_t kInnerDeadZone = 20, kFixedDeadZone = 16;
std::uint32_t nearest_dead_zone(double bits) {
  const double relative = std::sqrt(0.176 + 0.1155 * std::max(bits, 0.0));
  return static_cast<std::uint32_t>(std::clamp(16 * relative + 0.5, 8.0, 18.0));
}

// Of a floor's largest element to its step.
double largest_ratio(Coder coder) {
  return coder == Coder::kFixedWidth ? 128 : rans::kLevelMax / 4;
}

}  // namespace

std::uint32_t Composer::dead_zone(double step) const {
  if (from_.coder == Coder::kFixedWidth) return kFixedDeadZone;
  if (from_.rounding == Rounding::kTowardsZero) return kInnerDeadZone;
  std::size_t sent = 0, first = 0;
  for (const float value : from_.entries.values) {
    const double magnitude = std::abs(double{value});
    sent += magnitude >= 0.75 * step;
    first += magnitude >= 0.75 * step && magnitude < 1.75 * step;
  }
  if (sent == 0) return kInnerDeadZone;
  const auto left_out = static_cast<double>(std::max<std::size_t>(from_.size - sent, 1));
  return nearest_dead_zone(
      log2_about(left_out / static_cast<double>(sent)) + 1 +
      log2_about(static_cast<double>(sent) / static_cast<double>(std::max<std::size_t>(first, 1))));
}

std::uint32_t Composer::best_growth() const {
  if (from_.coder == Coder::kEntropy) return 0;
  Head head = message_.head;
  std::array<double, kGrowths> missing{};
  for (head.growth = 0; head.growth < kGrowths; ++head.growth) {
    const Quantiser quantiser(head, 0);
    for (const float value : from_.entries.values) {
      const double magnitude = std::abs(double{value});
      if (magnitude < quantiser.dead_zone()) continue;
      const double left = magnitude - double{quantiser.magnitude(quantiser.level(std::abs(value)))};
      missing[head.growth] += left * left;
    }
  }
  return static_cast<std::uint32_t>(std::ranges::min_element(missing) - missing.begin());
}

Composer::Cut Composer::cut(double dead_zone, std::size_t limit) {
  magnitudes_.clear();
  for (const float value : from_.entries.values)
    if (std::abs(double{value}) >= dead_zone) magnitudes_.push_back(std::abs(value));
  reached_ = magnitudes_.size();
  if (reached_ <= limit) return {dead_zone, reached_};
  if (limit == 0) return {std::numeric_limits<double>::infinity(), 0};
  const auto last = magnitudes_.begin() + static_cast<std::ptrdiff_t>(limit - 1);
  std::ranges::nth_element(magnitudes_, last, std::greater{});
  const float least = *last;
  const auto ties = std::count(magnitudes_.begin(), last + 1, least);
  return {double{least}, static_cast<std::size_t>(ties)};
}

void Composer::add(std::uint32_t index, float value, const Quantiser& quantiser) {
  const float magnitude = std::abs(value);
  const std::uint32_t level = quantiser.level(magnitude);
  message_.elements.indices.push_back(index);
  message_.elements.marks.push_back(level << 1 | (std::signbit(value) ? 1 : 0));
  if (level > 1 && from_.coder == Coder::kEntropy) return;
  offsets_[level > 0] += quantiser.place(magnitude, level);
  ++counts_[level > 0];
}

void Composer::take(std::size_t first, std::size_t last, const Quantiser& quantiser, Cut& cut) {
  for (std::size_t i = first; i < last; ++i) {
    const double magnitude = std::abs(double{from_.entries.values[i]});
    if (magnitude < cut.magnitude) continue;
    if (magnitude == cut.magnitude && cut.ties-- == 0) {
      cut.ties = 0;
      continue;
    }
    add(from_.entries.indices[i], from_.entries.values[i], quantiser);
  }
}

void Composer::take_floor(const Floor& floor, const Quantiser& global) {
  std::uint32_t shift = 0;
  double scale = 1;
  while (shift < kShiftMax && global.dead_zone() * scale > double{floor.smallest} &&
         double{floor.largest} < global.step() * scale * largest_ratio(from_.coder)) {
    ++shift;
    scale /= 2;
  }
  const Quantiser own(message_.head, shift);
  bool any = false;
  for (std::size_t i = floor.first; i < floor.last; ++i) {
    if (std::abs(double{from_.floors.values[i]}) < own.dead_zone()) continue;
    add(from_.floors.indices[i], from_.floors.values[i], own);
    any = true;
  }
  if (!any || shift == 0) return;
  std::vector<Segment>& segments = message_.head.segments;
  const std::size_t end = floor.piece.offset + floor.piece.size;
  if (!segments.empty() && segments.back().end == floor.piece.offset &&
      segments.back().shift == shift)
    segments.back().end = end;
  else
    segments.push_back({floor.piece.offset, end, shift});
}

Message& Composer::compose(std::uint32_t code, std::size_t limit) {
  message_.head = {};
  message_.head.rounding = from_.rounding;
  message_.head.step = code;
  message_.head.dead_zone = dead_zone(step_of(code));
  message_.head.coder = from_.coder;
  message_.head.growth = best_growth();
  message_.elements.indices.clear();
  message_.elements.marks.clear();
  message_.bytes.clear();
  offsets_.fill(0);
  counts_.fill(0);
  const Quantiser global(message_.head, 0);
  Cut where = cut(global.dead_zone(), limit);
  std::size_t next = 0;
  const auto entry_at = [&](std::size_t position) {
    return static_cast<std::size_t>(std::ranges::lower_bound(from_.entries.indices, position) -
                                    from_.entries.indices.begin());
  };
  for (const Floor& floor : from_.pieces) {
    if (double{floor.smallest} >= where.magnitude) continue;
    const std::size_t first = entry_at(floor.piece.offset);
    take(next, first, global, where);
    take_floor(floor, global);
    next = entry_at(floor.piece.offset + floor.piece.size);
  }
  take(next, from_.entries.size(), global, where);
  if (message_.elements.indices.empty()) return message_;
  for (std::size_t q = 0; q < 2; ++q)
    if (counts_[q] > 0)
      message_.head.centroids[q] = static_cast<std::uint32_t>(
          std::clamp(16 * offsets_[q] / static_cast<double>(counts_[q]), 0.0, 15.0));
  write(message_.head, message_.elements, from_.size, scratch_, message_.bytes);
  return message_;
}

}  // namespace kimesh::dzq
