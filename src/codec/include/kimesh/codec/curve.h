// Error curves: the energy that a topk message of k elements leaves out, as a function of k. The
// pass that selects the elements of a message measures the curves of its pieces; policies read
// curves, never floats.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "kimesh/codec/piece.h"

namespace kimesh {

// When the `kept` largest elements are sent, the others have the energy (Σ of squares)
// `missing_energy` and no magnitude over `magnitude`.
struct CurvePoint {
  double kept = 0;
  double missing_energy = 0;
  double magnitude = 0;
  bool operator==(const CurvePoint&) const = default;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.kept, self.missing_energy, self.magnitude);
  }
};

// The curve of one piece. `kept` ascends from 0 to the number of elements that are not 0;
// `missing_energy` falls from the piece's energy to 0; `magnitude` falls from the largest. The
// points lie at the edges of a magnitude histogram with eight bins an octave, and inside of a bin
// where a straight line would be too inexact. A piece of zeros has one point, {0, 0, 0}.
//
// Accuracy: missing_energy is within 1 % of the truth, or within 1e-4 of the piece's energy where
// that is more, for pieces of some thousand elements that are not 0. The histogram holds the count
// and the mean of each bin.
//
// Sampling: below the magnitudes that the selection collects, a pass reads one cache line of two in
// pieces from 2^18 elements on, one of four from 2^20, one of eight from 2^22. The 1 % then needs a
// tenth of the elements to be other than 0; with fewer it is 2 %. In messages of 2^22 elements and
// more, sampling begins at an eighth of these sizes: a single piece is within 3 %, all pieces
// together are within 1 %.
struct PieceCurve {
  std::uint32_t size = 0;  // elements
  std::vector<CurvePoint> points;
  // The energy left out when `kept` >= 0 elements are sent: linear between two points, 0 behind the
  // last. The true curve is convex, so that the line is below it by no more than the points are.
  [[nodiscard]] double missing_energy(double kept) const;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.size, self.points);
  }
  [[nodiscard]] bool is_sound() const { return !points.empty(); }
};

// The curves of the pieces of a message. Empty: nothing was measured.
using Curve = std::vector<PieceCurve>;
// The energy of all pieces together.
[[nodiscard]] double energy_of(const Curve& curve);

// Measures the curves of `difference` from all elements. Requires pieces that cover the vector in
// order, and finite elements.
[[nodiscard]] Curve measure_curve(std::span<const float> difference, std::span<const Piece> pieces);

}  // namespace kimesh
