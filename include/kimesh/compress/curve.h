// Error curves: how much of a difference a topk message of k elements would leave out. One pass
// over the difference makes the curve of each piece; policies read them and never the floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/compress/piece.h"

namespace kimesh {

// With the `kept` largest elements sent, the rest has the energy (Σ of squares) `missing_energy`.
struct CurvePoint {
  double kept = 0;
  double missing_energy = 0;
  bool operator==(const CurvePoint&) const = default;
};

// Of one piece. `kept` ascends from 0 to the number of elements that are not 0, `missing_energy`
// falls from the piece's energy to 0. The points lie where a magnitude histogram with four bins an
// octave has its edges; a piece of zeros has one point, {0, 0}.
struct PieceCurve {
  std::uint32_t size = 0;  // elements
  std::vector<CurvePoint> points;
  // Between two points a straight line, which is never below the truth (the truth is convex).
  // Requires kept >= 0. Past the last point 0.
  [[nodiscard]] double missing_energy(double kept) const;
};

// By piece. Empty: nothing was measured.
using Curve = std::vector<PieceCurve>;

// The curves of |difference|. Pieces cover the vector in order; all elements are finite.
[[nodiscard]] Curve measure_curve(std::span<const float> difference, std::span<const Piece> pieces);

}  // namespace kimesh
