#include "kimesh/codec/allocation.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The fractional part of the golden ratio in 32-bit fixed point. Its multiples modulo 1 are spread
// evenly.
constexpr std::uint32_t kGoldenFraction = 2654435769u;

// The part of a curve between two points: `count` elements with the mean energy `each`.
struct Stretch {
  double each = 0, count = 0;
  std::size_t curve = 0;
};

std::vector<Stretch> stretches_of(std::span<const Curve* const> curves) {
  std::vector<Stretch> all;
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (const PieceCurve& piece : *curves[c])
      for (std::size_t i = 1; i < piece.points.size(); ++i) {
        const CurvePoint &high = piece.points[i - 1], &low = piece.points[i];
        const double count = low.kept - high.kept;
        all.push_back({(high.missing_energy - low.missing_energy) / count, count, c});
      }
  return all;
}

// Stretches in buckets by the exponent of their energy. A threshold splits one bucket, and only
// there the order of the stretches matters; sorting all of them would take most of the time.
class Buckets {
 public:
  static constexpr std::size_t kCount = 1 << 11;  // the exponents of a double

  explicit Buckets(const std::vector<Stretch>& all) : sorted_(all.size()) {
    for (const Stretch& stretch : all) ++begins_[number(stretch) + 1];
    for (std::size_t b = 0; b < kCount; ++b) begins_[b + 1] += begins_[b];
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (const Stretch& stretch : all) sorted_[next[number(stretch)]++] = stretch;
  }
  // The stretches of a bucket; in descending order of energy where they hold more than `left`
  // elements.
  [[nodiscard]] std::span<const Stretch> of(std::size_t bucket, double left) {
    const auto stretches =
        std::span(sorted_).subspan(begins_[bucket], begins_[bucket + 1] - begins_[bucket]);
    double sum = 0;
    for (const Stretch& stretch : stretches) sum += stretch.count;
    if (sum > left)
      std::ranges::sort(stretches,
                        [](const Stretch& a, const Stretch& b) { return a.each > b.each; });
    return stretches;
  }

 private:
  static std::size_t number(const Stretch& stretch) {
    constexpr unsigned kMantissaBits = 52;
    const double each = stretch.each > 0 ? stretch.each : 0;  // NaN counts as 0
    return std::bit_cast<std::uint64_t>(each) >> kMantissaBits;
  }
  std::vector<std::size_t> begins_ = std::vector<std::size_t>(kCount + 1);
  std::vector<Stretch> sorted_;
};

}  // namespace

void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares) {
  KIMESH_CHECK(pieces.size() == shares.size(), "one share for each piece");
  std::uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.size;
  KIMESH_CHECK(total <= std::numeric_limits<std::uint32_t>::max(), "indices fit 32 bits");
  KIMESH_CHECK(keep <= total, "no more is kept than there is");
  std::ranges::fill(shares, 0u);
  if (total == 0) return;
  // The pieces up to position p get floor(keep·p/n + f) elements together, with an offset f in [0,
  // 1) in steps of 2^-32: f = 1 − rounding_up_from / 2^32. The arithmetic is exact in 64 bits,
  // because keep, p and n have 32.
  const std::uint64_t fraction = rotation * kGoldenFraction;
  const std::uint64_t rounding_up_from = (std::uint64_t{1} << 32) - fraction;
  std::uint64_t position = 0, given = 0;
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    position += pieces[l].size;
    const std::uint64_t product = std::uint64_t{keep} * position;
    const std::uint64_t remainder = product % total;
    const bool up = (remainder << 32) >= total * rounding_up_from;
    const std::uint64_t due = product / total + (up ? 1 : 0);
    shares[l] = static_cast<std::uint32_t>(due - given);
    given = due;
  }
}

std::vector<double> threshold_allocation(std::span<const Curve* const> curves, double total,
                                         std::span<const double> floors) {
  KIMESH_CHECK(curves.size() == floors.size(), "a floor for each curve");
  Buckets buckets(stretches_of(curves));
  std::vector<double> keep(floors.begin(), floors.end());
  // The first elements of a curve are paid by its floor.
  std::vector<double> paid = keep;
  double left = std::accumulate(keep.begin(), keep.end(), total,
                                [](double sum, double floor) { return sum - floor; });
  for (std::size_t b = Buckets::kCount; b-- > 0 && left > 0;) {
    for (const Stretch& stretch : buckets.of(b, left)) {
      const double free = std::min(paid[stretch.curve], stretch.count);
      paid[stretch.curve] -= free;
      const double more = std::min(stretch.count - free, left);
      keep[stretch.curve] += more;
      left -= more;
    }
  }
  return keep;
}

std::vector<double> missing_beyond(const Curve& curve, std::span<const double> kept) {
  const Curve* const only = &curve;
  std::vector<Stretch> stretches = stretches_of({&only, 1});
  std::ranges::sort(stretches, std::greater{}, &Stretch::each);
  const double whole = energy_of(curve);
  std::vector<double> missing;
  for (const double number : kept) {
    double left = number, energy = whole;
    for (const Stretch& stretch : stretches) {
      if (left <= 0) break;
      energy -= stretch.each * std::min(left, stretch.count);
      left -= stretch.count;
    }
    missing.push_back(std::max(energy, 0.0));
  }
  return missing;
}

}  // namespace kimesh
