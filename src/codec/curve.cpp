#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kimesh/kernels/histogram.h"
#include "kimesh/kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "piece_curve.h"

namespace kimesh {
namespace {

using kernels::kMagnitudeBinBits;
using kernels::MagnitudeBin;
using kernels::MagnitudeHistogram;
using kernels::PartMagnitudes;

// The elements of a piece whose magnitudes lie in (low, high].
struct Stretch {
  double count = 0, energy = 0;
  double low = 0, high = 0;
};
using Stretches = std::vector<Stretch>;

double magnitude_of(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}

// A bin of the histogram has a count and a mean magnitude; its energy is count · (mean² +
// variance). The variance is not measured. It is taken as half of that of a uniform distribution
// over the bin, width² / 12, which lies between that of bins full of ties (0) and that of noise. It
// is never more than the mean allows.
Stretch stretch_of(std::size_t bin, double count, double above_edge) {
  const auto low_bits = static_cast<std::uint32_t>((bin - 1) << kMagnitudeBinBits);
  const double low = magnitude_of(low_bits);
  const double high = std::min(magnitude_of(low_bits + (1u << kMagnitudeBinBits)),
                               static_cast<double>(std::numeric_limits<float>::max()));
  const double width = high - low;
  const double mean = low + width * std::ldexp(above_edge / count + 1, -int{kMagnitudeBinBits});
  const double possible = (mean - low) * (high - mean);  // with all elements at the two edges
  const double spread = count > 1 ? std::min(width * width / 24, std::max(possible, 0.0)) : 0;
  return {count, count * (mean * mean + spread), low, high};
}

// Scales the energies so that they sum to `energy`, which is known exactly.
void scale_to(double energy, std::span<Stretch> stretches) {
  double sum = 0;
  for (const Stretch& stretch : stretches) sum += stretch.energy;
  if (sum == 0) return;
  for (Stretch& stretch : stretches) stretch.energy *= energy / sum;
}

// The stretches of the bins [first, end), in ascending order of magnitude.
Stretches stretches_of(std::span<const MagnitudeBin> bins, std::size_t first, std::size_t end) {
  Stretches stretches;
  for (std::size_t b = first; b < end; ++b)
    if (bins[b].count > 0)
      stretches.push_back(stretch_of(b, static_cast<double>(bins[b].count),
                                     static_cast<double>(bins[b].above_edge)));
  return stretches;
}

Stretches stretches_of(MagnitudeHistogram& histogram, double energy) {
  const std::span<const MagnitudeBin> bins = histogram.bins();
  Stretches stretches = stretches_of(bins, histogram.first_bin(), histogram.end_bin());
  scale_to(energy, stretches);
  return stretches;
}

// The stretches below `sample.lower`, whose elements were sampled. The counts of the sample are
// scaled to the piece, and the elements of at least `lower`, which `known` counts exactly, are
// subtracted. `energy` is the energy of the elements below `lower`.
Stretches stretches_below(std::size_t size, const PartMagnitudes& sample, MagnitudeHistogram& known,
                          double energy) {
  const std::span<const MagnitudeBin> bins = sample.bins, top = known.bins();
  const float lower = sample.lower;
  auto sampled = static_cast<double>(bins[0].count);
  for (std::size_t b = sample.first_bin; b < sample.end_bin; ++b)
    sampled += static_cast<double>(bins[b].count);
  const double scale = static_cast<double>(size) / sampled;
  const std::size_t divided = kernels::magnitude_bin(lower);
  Stretches stretches;
  for (std::size_t b = sample.first_bin; b < std::min(sample.end_bin, divided + 1); ++b) {
    const auto count = static_cast<double>(bins[b].count);
    const double rest = scale * count - static_cast<double>(b == divided ? top[b].count : 0);
    if (count == 0 || rest < 1) continue;
    stretches.push_back(
        stretch_of(b, rest, static_cast<double>(bins[b].above_edge) / count * rest));
  }
  scale_to(energy, stretches);
  if (stretches.empty() && energy > 0)  // the sample missed them all
    stretches.push_back({1, energy, 0, static_cast<double>(lower)});
  const double edge = magnitude_of(std::bit_cast<std::uint32_t>(lower) - 1);
  if (!stretches.empty()) stretches.back().high = std::min(stretches.back().high, edge);
  return stretches;
}

// Appends the stretch, or its two halves where that makes the curve more exact. With evenly spread
// magnitudes, the straight line between the ends of a stretch is off by count · (high² − low²) / 8
// in the middle. Where that matters, the stretch is halved: its density is modelled as linear, with
// the stretch's mean.
void add_halves(const Stretch& whole, double below, Stretches& halves) {
  constexpr double kCounts = 0.003, kFewElements = 8;
  const double off = whole.count * (whole.high * whole.high - whole.low * whole.low) / 8;
  const double middle = (whole.low + whole.high) / 2, half = (whole.high - whole.low) / 2;
  const double mean = std::sqrt(whole.energy / whole.count);
  const double slope = 3 * (mean - middle) / half;  // of the density, with the stretch as [-1, 1]
  if (off < kCounts * (below + whole.energy / 2) || whole.count < kFewElements ||
      std::abs(slope) > 1) {
    halves.push_back(whole);
    return;
  }
  const double share = 0.5 + slope / 4;  // the part of the elements in the upper half
  const double upper_mean = middle + half * (0.25 + slope / 6) / share;
  const double upper_square = upper_mean * upper_mean + half * half / 12;
  Stretch upper{whole.count * share, 0, middle, whole.high};
  upper.energy = std::min(whole.energy, upper.count * upper_square);
  halves.push_back({whole.count - upper.count, whole.energy - upper.energy, whole.low, middle});
  halves.push_back(upper);
}

// Sums in ascending order of magnitude, so that small energies keep their digits.
PieceCurve curve_of(std::size_t size, const Stretches& stretches) {
  PieceCurve curve{static_cast<std::uint32_t>(size), {}};
  Stretches halves;
  double below = 0;
  for (const Stretch& stretch : stretches) {
    add_halves(stretch, below, halves);
    below += stretch.energy;
  }
  double missing = 0;
  for (const Stretch& stretch : halves) {
    curve.points.push_back({stretch.count, missing, stretch.low});
    missing += stretch.energy;
  }
  curve.points.push_back({0, missing, halves.empty() ? 0 : halves.back().high});
  std::ranges::reverse(curve.points);
  // The counts of stretches become the number of elements kept down to each of them.
  for (std::size_t i = 1; i < curve.points.size(); ++i)
    curve.points[i].kept += curve.points[i - 1].kept;
  return curve;
}

// A curve whose large elements are known, and whose others were sampled.
PieceCurve sampled_curve(std::size_t size, const PartMagnitudes& magnitudes,
                         MagnitudeHistogram& top) {
  top.reset(magnitudes.known.size(), MagnitudeHistogram::Counts::kAll);
  top.add(magnitudes.known, {});
  const double known_energy = kernels::energy(magnitudes.known);
  Stretches stretches =
      stretches_below(size, magnitudes, top, std::max(0.0, *magnitudes.energy - known_energy));
  Stretches above = stretches_of(top, known_energy);
  // `lower` lies inside of a bin: both parts of the bin end there.
  const double edge = magnitude_of(std::bit_cast<std::uint32_t>(magnitudes.lower) - 1);
  if (!above.empty()) above.front().low = std::max(above.front().low, edge);
  stretches.insert(stretches.end(), above.begin(), above.end());
  return curve_of(size, stretches);
}

}  // namespace

double PieceCurve::missing_energy(double kept) const {
  const auto after = std::ranges::upper_bound(points, kept, {}, &CurvePoint::kept);
  if (after == points.end()) return 0;
  if (after == points.begin()) return after->missing_energy;
  const CurvePoint& low = *(after - 1);
  const double share = (kept - low.kept) / (after->kept - low.kept);
  return low.missing_energy + share * (after->missing_energy - low.missing_energy);
}

double energy_of(const Curve& curve) {
  double energy = 0;
  for (const PieceCurve& piece : curve) energy += piece.missing_energy(0);
  return energy;
}

Curve measure_curve(std::span<const float> difference, std::span<const Piece> pieces) {
  Curve curve;
  MagnitudeHistogram histogram;
  for (const Piece& piece : pieces) {
    const auto part = difference.subspan(piece.offset, piece.size);
    histogram.reset(piece.size, MagnitudeHistogram::Counts::kAll);
    histogram.add(part, {});
    curve.push_back(curve_of(piece.size, stretches_of(histogram, kernels::energy(part))));
  }
  return curve;
}

PieceCurve curve_of(std::size_t size, const PartMagnitudes& magnitudes, MagnitudeHistogram& top) {
  if (magnitudes.sampled) return sampled_curve(size, magnitudes, top);
  Stretches stretches = stretches_of(magnitudes.bins, magnitudes.first_bin, magnitudes.end_bin);
  if (magnitudes.energy) scale_to(*magnitudes.energy, stretches);
  return curve_of(size, stretches);
}

}  // namespace kimesh
