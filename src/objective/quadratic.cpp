#include "kimesh/objective/quadratic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "shares.h"

namespace kimesh {
namespace {

constexpr double kSpread = 0.3;  // of the logarithm of a node's curvatures round the mean's

// Makes Σ ω_i a_ij equal to `mean`.
void scale_to_mean(QuadraticProblem& problem, std::size_t j, double mean) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.a.size(); ++i) sum += problem.weights[i] * problem.a[i][j];
  for (std::vector<double>& a : problem.a) a[j] *= mean / sum;
}

}  // namespace

double QuadraticProblem::smoothness() const {
  double largest = 0;
  for (std::size_t j = 0; j < dimension; ++j) {
    double curvature = 0;
    for (std::size_t i = 0; i < a.size(); ++i) curvature += weights[i] * a[i][j];
    largest = std::max(largest, curvature);
  }
  return largest;
}

double QuadraticProblem::smoothness_of_parts() const {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double largest = std::ranges::max(a[i]);
    sum += weights[i] * largest * largest;
  }
  return std::sqrt(sum);
}

double QuadraticProblem::gradient_norm_squared(std::span<const float> x) const {
  KIMESH_CHECK(x.size() == dimension, "a point has the problem's dimension");
  double sum = 0;
  for (std::size_t j = 0; j < dimension; ++j) {
    double slope = 0;
    for (std::size_t i = 0; i < a.size(); ++i) slope += weights[i] * a[i][j] * (x[j] - b[i][j]);
    sum += slope * slope;
  }
  return sum;
}

std::vector<double> QuadraticProblem::minimiser() const {
  std::vector<double> result(dimension);
  for (std::size_t j = 0; j < dimension; ++j) {
    double pull = 0, curvature = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      pull += weights[i] * a[i][j] * b[i][j];
      curvature += weights[i] * a[i][j];
    }
    result[j] = pull / curvature;
  }
  return result;
}

QuadraticProblem make_quadratic(const QuadraticOptions& config, std::size_t nodes,
                                std::span<const double> weights, std::uint64_t seed) {
  KIMESH_CHECK(config.dimension > 0, "a problem has a dimension");
  const std::size_t dimension = config.dimension;
  QuadraticProblem problem;
  problem.dimension = dimension;
  problem.weights = shares(weights, nodes);
  problem.a.assign(nodes, std::vector<double>(dimension));
  problem.b = problem.a;
  for (std::size_t i = 0; i < nodes; ++i) {
    Random random(seed, static_cast<std::uint32_t>(i), 0, Purpose::kQuadratic);
    for (std::size_t j = 0; j < dimension; ++j) {
      problem.a[i][j] = std::exp(kSpread * random.normal());
      problem.b[i][j] = config.heterogeneity * random.normal() + 1;
    }
  }
  // Scattered over the coordinates, so that every shard holds some of each kind, as a model's do.
  std::vector<std::size_t> places(dimension);
  std::iota(places.begin(), places.end(), std::size_t{0});
  Random(seed, static_cast<std::uint32_t>(nodes), 1, Purpose::kQuadratic)
      .shuffle(std::span<std::size_t>(places));
  const double steps = std::max<double>(1, static_cast<double>(dimension) - 1);
  for (std::size_t j = 0; j < dimension; ++j)
    scale_to_mean(problem, places[j], std::pow(config.condition, -static_cast<double>(j) / steps));
  return problem;
}

double theory_step_size(double smoothness, double smoothness_of_parts, double alpha_worker,
                        double alpha_server) {
  KIMESH_CHECK(smoothness > 0 && smoothness_of_parts > 0, "curvatures are positive");
  // χ of a compressor that keeps the share `alpha`; the papers' β/θ.
  const auto chi = [](double alpha) {
    KIMESH_CHECK(alpha > 0 && alpha <= 1, "a message keeps something, and at most all");
    const double theta = 1 - std::sqrt(1 - alpha);
    return (1 - alpha) / (theta * theta);
  };
  const double worker = chi(alpha_worker), server = chi(alpha_server);
  const double mean = smoothness * smoothness;
  const double parts = smoothness_of_parts * smoothness_of_parts;
  return 1 / (smoothness + std::sqrt(2 * server * mean + 4 * worker * (1 + server) * parts));
}

}  // namespace kimesh
