#include "kimesh/compress/curve.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// A float's exponent and the upper two bits of its mantissa: four bins an octave, 1024 in all.
constexpr unsigned kBinShift = 21;
constexpr std::size_t kBins = 1024;
constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;

struct Histogram {
  std::array<std::uint32_t, kBins> counts{};
  std::array<double, kBins> energies{};
};

PieceCurve curve_of(std::span<const float> difference, Histogram& histogram) {
  histogram = {};
  std::size_t lowest = kBins, highest = 0;
  for (const float x : difference) {
    const std::size_t bin = (std::bit_cast<std::uint32_t>(x) & kMagnitudeBits) >> kBinShift;
    ++histogram.counts[bin];
    histogram.energies[bin] += static_cast<double>(x) * static_cast<double>(x);
    lowest = std::min(lowest, bin);
    highest = std::max(highest, bin);
  }
  PieceCurve curve{static_cast<std::uint32_t>(difference.size()), {}};
  // From the smallest magnitudes upwards, so that sums of small energies keep their digits.
  double missing = 0;
  for (std::size_t bin = lowest; bin < kBins && bin <= highest; ++bin) {
    if (histogram.energies[bin] == 0) continue;  // zeros, or nothing
    curve.points.push_back({static_cast<double>(histogram.counts[bin]), missing});
    missing += histogram.energies[bin];
  }
  curve.points.push_back({0, missing});
  std::ranges::reverse(curve.points);
  // Each bin's count becomes what is kept when the bin and all above it are.
  for (std::size_t i = 1; i < curve.points.size(); ++i)
    curve.points[i].kept += curve.points[i - 1].kept;
  return curve;
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

Curve measure_curve(std::span<const float> difference, std::span<const Piece> pieces) {
  Curve curve;
  curve.reserve(pieces.size());
  Histogram histogram;
  for (const Piece& piece : pieces)
    curve.push_back(curve_of(difference.subspan(piece.offset, piece.size), histogram));
  return curve;
}

}  // namespace kimesh
