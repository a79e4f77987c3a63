#include "src/compress/dzq_compose.h"

#include <algorithm>
#include <cmath>

#include "src/compress/dzq_estimates.h"

namespace kimesh::dzq {

namespace {

constexpr std::uint32_t kFixedDeadZone = 16;

// Of a floor's largest element to its step.
double largest_ratio(Coder coder) {
  return coder == Coder::kFixedWidth ? 128 : rans::kLevelMax / 4;
}

}  // namespace

std::uint32_t Composer::dead_zone(double step) const {
  if (from_.coder == Coder::kFixedWidth) return kFixedDeadZone;
  return dead_zone_of(from_.rounding, static_cast<double>(from_.size),
                      [&](double steps) { return magnitudes_.at_least(steps * step); });
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
  constexpr std::size_t kAll = kNoLimit;
  if (limit == kNoLimit) return {dead_zone, kAll};
  if (limit == 0) return {std::numeric_limits<double>::infinity(), 0};
  reaching_.clear();
  for (const float value : from_.entries.values)
    if (std::abs(double{value}) >= dead_zone) reaching_.push_back(std::abs(value));
  if (reaching_.size() <= limit) return {dead_zone, kAll};
  const auto last = reaching_.begin() + static_cast<std::ptrdiff_t>(limit - 1);
  std::ranges::nth_element(reaching_, last, std::greater{});
  const float least = *last;
  return {double{least}, static_cast<std::size_t>(std::count(reaching_.begin(), last + 1, least))};
}

void Composer::add(std::uint32_t index, float value, const Quantiser& quantiser) {
  const float magnitude = std::abs(value);
  const std::uint32_t level = quantiser.level(magnitude);
  message_.elements.indices[count_] = index;
  message_.elements.marks[count_++] = level << 1 | (std::signbit(value) ? 1 : 0);
  const double place = quantiser.place(magnitude, level);
  const std::size_t group = std::min(level, from_.coder == Coder::kEntropy ? 2u : 1u);
  offsets_[group] += place;
  ++counts_[group];
}

void Composer::take(std::size_t first, std::size_t last, const Quantiser& quantiser, Cut& cut) {
  for (std::size_t i = first; i < last; ++i) {
    const double magnitude = std::abs(double{from_.entries.values[i]});
    if (magnitude < cut.magnitude) continue;
    if (magnitude == cut.magnitude) {
      if (cut.ties == 0) continue;
      --cut.ties;
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
  message_.elements.indices.resize(from_.entries.size() + from_.floors.size());
  message_.elements.marks.resize(message_.elements.indices.size());
  message_.bytes.clear();
  count_ = 0;
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
  message_.elements.indices.resize(count_);
  message_.elements.marks.resize(count_);
  if (count_ == 0) return message_;
  for (std::size_t q = 0; q < 2; ++q)
    if (counts_[q] > 0)
      message_.head.centroids[q] = static_cast<std::uint32_t>(
          std::clamp(16 * offsets_[q] / static_cast<double>(counts_[q]), 0.0, 15.0));
  write(message_.head, message_.elements, from_.size, scratch_, message_.bytes);
  return message_;
}

}  // namespace kimesh::dzq
