#include "kimesh/config/keys.h"
#include "kimesh/objective/quadratic.h"

namespace kimesh {
namespace {

constexpr Range kDimensions{1, 10'000'000};  // float64 per node and element
constexpr Range kConditions{1, 1e6};         // float32 descent stalls from 1e3 on
constexpr Range kHeterogeneities{0, 1e6};    // float32 keeps six digits

}  // namespace

void QuadraticOptions::describe(Keys& keys) {
  keys.path("path", path, "CSV of node,j,a,b, instead of the other keys");
  if (!path.empty() && !keys.wants_all())
    return keys.refuse({"dimension", "condition", "heterogeneity"}, "a path, whose file says it");
  keys.whole("dimension", dimension, kDimensions, "unknowns");
  keys.number("condition", condition, kConditions,
              "largest over smallest curvature of the mean; the largest is 1");
  keys.number("heterogeneity", heterogeneity, kHeterogeneities,
              "how much the nodes' minima differ: standard deviation");
}

}  // namespace kimesh
