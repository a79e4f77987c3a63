// Error curves: how much of a difference a topk message of k elements would leave out. The step
// that selects makes the curve of each piece on the way; policies read them and never the floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/codec/piece.h"

namespace kimesh {

// With the `kept` largest elements sent, the rest has the energy (Σ of squares) `missing_energy`,
// and no magnitude over `magnitude`.
struct CurvePoint {
  double kept = 0;
  double missing_energy = 0;
  double magnitude = 0;
  bool operator==(const CurvePoint&) const = default;
};

// Of one piece. `kept` ascends from 0 to the number of elements that are not 0, `missing_energy`
// falls from the piece's energy to 0, `magnitude` from the largest. The points lie at the edges of
// a magnitude histogram with eight bins an octave, and within a bin where a straight line would be
// too far off; a piece of zeros has one point, {0, 0, 0}.
//
// missing_energy is within 1 % of the truth where a piece has some thousand elements beside zeros,
// or within 1e-4 of the piece's energy where that is more. The histogram has the count and the mean
// of each bin. Curves that a step makes have of pieces from 2^18 elements on, below what the
// selection collects, one cache line of two (from 2^20 of four, from 2^22 of eight); the 1 % then
// asks for as many elements that are not 0. In messages of 2^22 elements and more that begins at an
// eighth of these sizes: all pieces of the message together keep to the 1 %, a single one to 3 %.
struct PieceCurve {
  std::uint32_t size = 0;  // elements
  std::vector<CurvePoint> points;
  // Between two points a straight line, which is not below the truth by more than the points are
  // (the truth is convex). Requires kept >= 0. Past the last point 0.
  [[nodiscard]] double missing_energy(double kept) const;
};

// By piece. Empty: nothing was measured.
using Curve = std::vector<PieceCurve>;

// The curves of |difference|, from all elements. Pieces cover the vector in order; all elements are
// finite.
[[nodiscard]] Curve measure_curve(std::span<const float> difference, std::span<const Piece> pieces);

}  // namespace kimesh
