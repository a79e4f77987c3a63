#include "compose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "kimesh/kernels/entries.h"
#include "magnitudes.h"

namespace kimesh::dzq {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The largest ratio of a floor's largest element to its step.
constexpr double kLargestRatio = rans::kLevelMax / 4;

// The smallest float that is at least `dead_zone`: a float reaches the one exactly where it reaches
// the other.
float least_reaching(double dead_zone) {
  const auto least = static_cast<float>(dead_zone);
  return double{least} < dead_zone ? std::nextafter(least, kInfinity) : least;
}

}  // namespace

std::size_t Composer::count_reaching(double dead_zone) const {
  return kernels::count_reaching(least_reaching(dead_zone), from_.entries);
}

std::uint32_t Composer::dead_zone(double step) const {
  if (from_.whole != nullptr) return from_.whole->dead_zone(step);
  return dead_zone_of(from_.rounding, static_cast<double>(from_.size),
                      [&](double steps) { return magnitudes_.at_least(steps * step); });
}

double Composer::zone_of(std::uint32_t code) const {
  const double step = step_of(code);
  return step * dead_zone(step) / 16;
}

Composer::Cut Composer::cut(double dead_zone, std::size_t limit) {
  const float least = least_reaching(dead_zone);
  if (limit >= from_.entries.size()) return {least, kNoLimit};
  if (limit == 0) return {kInfinity, 0};
  const MagnitudeCounts::Bin bin = magnitudes_.of_rank(limit);
  reaching_.clear();
  for (const float value : from_.entries.values) {
    const float magnitude = std::abs(value);
    if (magnitude >= std::max(bin.low, least) && magnitude < bin.high)
      reaching_.push_back(magnitude);
  }
  const std::size_t rank = limit - bin.above;
  if (reaching_.size() < rank) return {least, kNoLimit};
  const auto last = reaching_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::ranges::nth_element(reaching_, last, std::greater{});
  const float smallest = *last;
  return {smallest, static_cast<std::size_t>(std::count(reaching_.begin(), last + 1, smallest))};
}

// Appends the entries of from[first, last) that reach the cut, as a run of the message. The loop
// stores values in the place of marks. It is branch-free, because whether an element reaches the
// cut is unpredictable.
void Composer::take_run(const kernels::Entries& from, std::size_t first, std::size_t last, Cut& cut,
                        std::uint32_t shift) {
  std::uint32_t* const indices = message_.elements.indices.data();
  std::uint32_t* const marks = message_.elements.marks.data();
  std::size_t count = count_, ties = cut.ties;
  for (std::size_t i = first; i < last; ++i) {
    const float value = from.values[i], magnitude = std::abs(value);
    indices[count] = from.indices[i];
    marks[count] = std::bit_cast<std::uint32_t>(value);
    const bool tie = magnitude == cut.magnitude && ties > 0;
    ties -= tie ? 1 : 0;
    count += magnitude > cut.magnitude || tie ? 1 : 0;
  }
  const std::size_t begin = std::exchange(count_, count);
  cut.ties = ties;
  if (count == begin) return;
  Quantiser(message_.head, shift)
      .mark(std::span(message_.elements.marks).subspan(begin, count - begin));
  runs_.push_back({count, shift, &from, first});
}

void Composer::take_floor(const Floor& floor, const Quantiser& global) {
  std::uint32_t shift = 0;
  double scale = 1;
  while (shift < kShiftMax && global.dead_zone() * scale > double{floor.smallest} &&
         double{floor.largest} < global.step() * scale * kLargestRatio) {
    ++shift;
    scale /= 2;
  }
  Cut own = cut(global.dead_zone() * scale, kNoLimit);
  const std::size_t before = count_;
  take_run(from_.floors, floor.first, floor.last, own, shift);
  floors_count_ += count_ - before;
  if (count_ == before || shift == 0) return;
  std::vector<Segment>& segments = message_.head.segments;
  const std::size_t end = floor.piece.offset + floor.piece.size;
  if (!segments.empty() && segments.back().end == floor.piece.offset &&
      segments.back().shift == shift)
    segments.back().end = end;
  else
    segments.push_back({floor.piece.offset, end, shift});
}

void Composer::choose(std::size_t limit) {
  const Quantiser global(message_.head, 0);
  Cut where = cut(global.dead_zone(), limit);
  const kernels::Entries& entries = from_.entries;
  std::size_t next = 0;
  for (const Floor& floor : from_.pieces) {
    if (floor.smallest >= where.magnitude) continue;
    take_run(entries, next, first_from(floor.piece.offset, entries), where, 0);
    take_floor(floor, global);
    next = first_from(floor.piece.offset + floor.piece.size, entries);
  }
  take_run(entries, next, entries.size(), where, 0);
}

void Composer::find_centroids() {
  // For level 0 and for level 1, the sum of the elements' places in their bins, and their number.
  std::array<double, 2> places{};
  std::array<std::size_t, 2> counts{};
  std::size_t i = 0;
  for (const Run& run : runs_) {
    const Quantiser quantiser(message_.head, run.shift);
    std::size_t source = run.first;
    for (; i < run.end; ++i) {
      while (run.from->indices[source] != message_.elements.indices[i]) ++source;
      const std::uint32_t level = message_.elements.marks[i] >> 1;
      const double place = quantiser.place(std::abs(run.from->values[source]), level);
      const bool first = level == 0, second = level == 1;
      places[0] += first ? place : 0;
      places[1] += second ? place : 0;
      counts[0] += first ? 1 : 0;
      counts[1] += second ? 1 : 0;
    }
  }
  for (std::size_t q = 0; q < 2; ++q)
    if (counts[q] > 0)
      message_.head.centroids[q] = static_cast<std::uint32_t>(
          std::clamp(16 * places[q] / static_cast<double>(counts[q]), 0.0, 15.0));
}

std::size_t Composer::measure(std::uint32_t code, std::size_t limit) {
  message_.head = {};
  message_.head.rounding = from_.rounding;
  message_.head.step = code;
  message_.head.dead_zone = dead_zone(step_of(code));
  // One more than there can be: `take_run` writes an element before it knows that it is taken.
  const std::size_t most = from_.entries.size() + from_.floors.size() + 1;
  message_.elements.indices.resize(most);
  message_.elements.marks.resize(most);
  runs_.clear();
  count_ = floors_count_ = 0;
  message_.bytes.clear();
  choose(limit);
  message_.elements.indices.resize(count_);
  message_.elements.marks.resize(count_);
  if (count_ == 0) return 0;
  return dzq::measure(message_.head, message_.elements, from_.size, scratch_);
}

Message& Composer::finish() {
  if (count_ == 0 || !message_.bytes.empty()) return message_;
  if (from_.rounding == Rounding::kNearest) find_centroids();
  write(message_.head, message_.elements, scratch_, message_.bytes);
  return message_;
}

}  // namespace kimesh::dzq
