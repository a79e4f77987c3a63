// The magnitudes that an error curve tells of, as parts of which each is spread evenly.
#pragma once

#include <algorithm>

#include "kimesh/codec/curve.h"

namespace kimesh::dzq {

// `count` elements, whose magnitudes are spread evenly over [low, high].
struct Spread {
  double count = 0, low = 0, high = 0;
};

// The elements of the bin between two points of a curve. The curve tells their count and mean
// square. They are taken to fill the part of the bin that begins at one of its edges and has the
// root mean square as its middle: error feedback cuts magnitudes off at the dead zone of the last
// messages, which may be anywhere in a bin.
[[nodiscard]] Spread spread_of(const CurvePoint& above, const CurvePoint& below);

// Calls visit(count, magnitude, width) for equal parts of the elements of each bin of the piece,
// from the largest.
template <typename Visit>
void for_parts(const PieceCurve& piece, Visit visit) {
  constexpr int kPlaces = 4;  // parts of a bin
  for (std::size_t i = 0; i + 1 < piece.points.size(); ++i) {
    const Spread spread = spread_of(piece.points[i], piece.points[i + 1]);
    const double width = (spread.high - spread.low) / kPlaces;
    for (int part = 0; part < kPlaces; ++part)
      if (spread.count > 0)
        visit(spread.count / kPlaces, spread.high - (part + 0.5) * width, width);
  }
}

// The number of elements of the piece whose magnitude is at least this.
[[nodiscard]] double reaching(const PieceCurve& piece, double magnitude);

[[nodiscard]] double largest_of(const Curve& curve);

}  // namespace kimesh::dzq
