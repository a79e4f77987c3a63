// Predicts the size and the error of dzq messages from error curves, without the floats.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/codec/setting.h"

namespace kimesh::dzq {

inline constexpr double kHeadBytes = 8;

struct Cost {
  double bytes = 0;           // of the payload
  double missing_energy = 0;  // Σ of squares that the message leaves out, floors not counted
  bool operator==(const Cost&) const = default;
};

// Predicts the entropy coded message that codes, with this step, the difference that the curve was
// measured on. `bytes` is the entropy of the positions in each piece and of the levels over all
// pieces; from 100 bytes on it is within 15 % of the message. `missing_energy` is within 5 %.
// Requires a finite step > 0.
[[nodiscard]] Cost cost_of(const Curve& curve, double step, Rounding rounding);

// What messages that have one step in common cost together, by step.
struct StepCosts {
  double largest = 0;  // the largest magnitude
  double finest = 0;   // the finest step that is of use
  double energy = 0;   // of everything
  std::function<Cost(double step)> of{};
};

// Of entropy coded messages, and of messages in fixed widths (the message with bins of the best
// growth). The curves outlive the result of entropy_costs. The finest step is that beyond which the
// largest level is too small: in fixed widths that with which the least is left out.
[[nodiscard]] StepCosts entropy_costs(std::span<const Curve* const> curves, Rounding rounding);
[[nodiscard]] StepCosts fixed_costs(std::span<const Curve* const> curves, Rounding rounding);

// The bytes of a message in fixed widths with this step.
[[nodiscard]] double fixed_bytes_about(const Curve& curve, double step);

// The finest step with which the messages are predicted to take at most `bytes` together. Returns 0
// where no curve has an element. One step for all messages divides `bytes` so that the least energy
// is left out: every message gains the same for its last byte.
[[nodiscard]] double step_within(const StepCosts& costs, double bytes);

// The energy that messages of these sizes leave out, by size: from the costs of some steps, with
// straight lines between them. It is within 20 % below a bit an element, and within 25 % at a bit.
// Where error feedback has cut magnitudes off at a dead zone, the energy that messages bring is
// within 10 %.
// Shapes: payload_bytes, result [sizes].
[[nodiscard]] std::vector<double> missing_within(const StepCosts& costs,
                                                 std::span<const double> payload_bytes);

}  // namespace kimesh::dzq
