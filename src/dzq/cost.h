// Predicts the size and the error of dzq messages from error curves, without the floats.
#pragma once

#include <span>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/codec/setting.h"

namespace kimesh::dzq {

struct Cost {
  double bytes = 0;           // of the payload, entropy coded
  double missing_energy = 0;  // Σ of squares that the message leaves out, floors not counted
  bool operator==(const Cost&) const = default;
};

// Predicts the message that codes, with this step, the difference that the curve was measured on.
// `bytes` is the entropy of the positions in each piece and of the levels over all pieces; from 100
// bytes on it is within 15 % of the message. `missing_energy` is within 5 %. Requires a finite
// step > 0.
[[nodiscard]] Cost cost_of(const Curve& curve, double step, Rounding rounding);

// The finest step with which the messages of all these curves are predicted to take at most `bytes`
// together, and no coarser than the largest level demands. Returns 0 where no curve has an element.
// One step for all messages divides `bytes` so that the least energy is left out: every message
// gains the same for its last byte.
[[nodiscard]] double step_within(std::span<const Curve* const> curves, double bytes,
                                 Rounding rounding);

// The energy that messages of these sizes leave out, by size: from the costs of some steps, with
// straight lines between them. It is within 20 % below a bit an element, and within 25 % at a bit.
// Where error feedback has cut magnitudes off at a dead zone, the energy that messages bring is
// within 10 %.
// Shapes: payload_bytes, result [sizes].
[[nodiscard]] std::vector<double> missing_within(const Curve& curve,
                                                 std::span<const double> payload_bytes,
                                                 Rounding rounding);

}  // namespace kimesh::dzq
