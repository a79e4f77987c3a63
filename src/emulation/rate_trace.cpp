#include "kimesh/emulation/rate_trace.h"

#include <cmath>
#include <limits>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The place of a moment in a trace that repeats. at() and next_change_after() compute the
// boundaries of steps by this one formula, so that rounding cannot make them disagree.
struct Position {
  const std::vector<RateTrace::Step>& steps;
  double cycle = 0;      // whole periods before
  std::size_t step = 0;  // in force

  Position(const RateTrace& trace, double seconds) : steps(trace.steps) {
    cycle = std::floor(seconds / period());
    if (begin(cycle + 1, 0) <= seconds) ++cycle;  // the division may round either way
    if (cycle > 0 && begin(cycle, 0) > seconds) --cycle;
    std::size_t low = 0, high = steps.size() - 1;  // the last step only ends the period
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (begin(cycle, middle) <= seconds ? low : high) = middle;
    }
    step = low;
  }
  double period() const { return steps.back().seconds; }
  double begin(double c, std::size_t s) const { return c * period() + steps[s].seconds; }
  double end() const {
    return step + 2 < steps.size() ? begin(cycle, step + 1) : begin(cycle + 1, 0);
  }
};

}  // namespace

double RateTrace::at(double seconds) const {
  KIMESH_CHECK(!steps.empty(), "a trace has a step");
  return steps.size() == 1 ? steps[0].bits_per_s : steps[Position(*this, seconds).step].bits_per_s;
}

double RateTrace::next_change_after(double seconds) const {
  KIMESH_CHECK(!steps.empty(), "a trace has a step");
  if (steps.size() == 1) return std::numeric_limits<double>::infinity();
  return Position(*this, seconds).end();
}

double RateTrace::mean() const {
  KIMESH_CHECK(!steps.empty(), "a trace has a step");
  if (steps.size() == 1) return steps[0].bits_per_s;
  double bits = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    bits += steps[i].bits_per_s * (steps[i + 1].seconds - steps[i].seconds);
  return bits / steps.back().seconds;
}

}  // namespace kimesh
