#include "spread.h"

#include <cmath>
#include <functional>

namespace kimesh::dzq {

Spread spread_of(const CurvePoint& above, const CurvePoint& below) {
  const double count = below.kept - above.kept;
  if (!(count > 0)) return {0, below.magnitude, above.magnitude};
  const double energy = above.missing_energy - below.missing_energy;
  const double mean =
      std::clamp(std::sqrt(std::max(energy, 0.0) / count), below.magnitude, above.magnitude);
  return {count, std::max(below.magnitude, 2 * mean - above.magnitude),
          std::min(above.magnitude, 2 * mean - below.magnitude)};
}

double reaching(const PieceCurve& piece, double magnitude) {
  const auto below =
      std::ranges::upper_bound(piece.points, magnitude, std::greater{}, &CurvePoint::magnitude);
  if (below == piece.points.begin()) return 0;
  const CurvePoint& above = *(below - 1);
  if (below == piece.points.end()) return above.kept;
  const Spread spread = spread_of(above, *below);
  if (magnitude >= spread.high) return above.kept;
  if (magnitude <= spread.low) return below->kept;
  return above.kept + spread.count * (spread.high - magnitude) / (spread.high - spread.low);
}

double largest_of(const Curve& curve) {
  double largest = 0;
  for (const PieceCurve& piece : curve)
    if (!piece.points.empty()) largest = std::max(largest, piece.points.front().magnitude);
  return largest;
}

}  // namespace kimesh::dzq
