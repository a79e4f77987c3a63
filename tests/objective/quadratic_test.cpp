#include "kimesh/objective/quadratic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/random.h"

namespace kimesh::quadratic_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSeed = 11;

QuadraticProblem seeded(std::uint64_t seed, std::size_t nodes = 4,
                        std::vector<double> weights = {0.1, 0.2, 0.3, 0.4}) {
  QuadraticOptions config;
  config.dimension = 50;
  return make_quadratic(config, nodes, weights, seed);
}

// Two nodes, two coordinates, small enough to work out by hand.
QuadraticProblem by_hand() {
  return {2, {{1, 3}, {5, 2}}, {{0, 1}, {2, -1}}, {0.25, 0.75}};
}

// f_i in float64 at the values that a node sees.
double value(const QuadraticProblem& problem, std::size_t node, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double distance = x[j] - static_cast<float>(problem.b[node][j]);
    sum += 0.5 * static_cast<float>(problem.a[node][j]) * distance * distance;
  }
  return sum;
}

struct Part {
  Part(const QuadraticProblem& problem, NodeIndex node)
      : objective(make_quadratic_objective(problem, node)),
        x(problem.dimension),
        gradient(problem.dimension) {
    objective->initialise(x.span());
    objective->bind(x.span(), gradient.span());
  }
  std::unique_ptr<Objective> objective;
  AlignedBuffer x, gradient;
};

// Seen to fail with the gradient of 1/2 a (x + b)^2 and with the factor 1/2 left out of the loss.
TEST(QuadraticObjective, TheGradientIsTheSlopeOfTheLoss) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const QuadraticProblem problem = seeded(kSeed);
  Random random(kSeed, 0, 0, Purpose::kTest);
  for (NodeIndex node = 0; node < 4; ++node) {
    Part part(problem, node);
    std::vector<double> point;
    for (float& x : part.x.span()) point.push_back(x = static_cast<float>(random.normal()));
    const Result<GradientNumbers> numbers = part.objective->gradient(3);
    ASSERT_TRUE(numbers.ok());
    EXPECT_NEAR(numbers->loss, value(problem, node, point), 1e-5 * numbers->loss);
    EXPECT_EQ(numbers->samples, 1u);
    for (std::size_t j = 0; j < point.size(); ++j) {
      constexpr double kStep = 1e-4;
      std::vector<double> left = point, right = point;
      left[j] -= kStep;
      right[j] += kStep;
      const double slope = (value(problem, node, right) - value(problem, node, left)) / (2 * kStep);
      EXPECT_NEAR(part.gradient.span()[j], slope, 1e-6 * (1 + std::abs(slope)));
    }
  }
}

// Seen to fail with the gradient computed in float64 and rounded once.
TEST(QuadraticObjective, RoundsOncePerOperationInFloat32) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const QuadraticProblem problem = seeded(kSeed);
  Part part(problem, 2);
  Random random(kSeed, 0, 1, Purpose::kTest);
  for (float& x : part.x.span()) x = static_cast<float>(random.normal());
  ASSERT_TRUE(part.objective->gradient(0).ok());
  for (std::size_t j = 0; j < problem.dimension; ++j) {
    volatile float distance = part.x.span()[j] - static_cast<float>(problem.b[2][j]);
    const float product = static_cast<float>(problem.a[2][j]) * distance;
    EXPECT_EQ(part.gradient.span()[j], product) << "element " << j;
  }
}

TEST(QuadraticObjective, StartsAtZerosOnOneUnnamedVectorWithoutATestSet) {
  const QuadraticProblem problem = by_hand();
  Part part(problem, 0);
  EXPECT_THAT(part.x.span(), Each(0.0f));
  ASSERT_EQ(part.objective->layout().layers.size(), 1u);
  EXPECT_EQ(part.objective->layout().layers[0].name, "");
  EXPECT_EQ(part.objective->layout().size(), 2u);
  EXPECT_EQ(part.objective->evaluate().value().samples, 0u);
}

// Seen to fail without the check for values that are not finite.
TEST(QuadraticObjective, AGradientThatIsNotFiniteIsAnErrorThatNamesTheElement) {
  const QuadraticProblem problem = by_hand();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Part part(problem, 1);
    part.x.span()[1] = bad;
    const Result<GradientNumbers> numbers = part.objective->gradient(0);
    ASSERT_FALSE(numbers.ok());
    EXPECT_EQ(numbers.error().code, ErrorCode::kNotFinite);
    EXPECT_THAT(numbers.error().message, HasSubstr("at element 1"));
  }
}

// Seen to fail with the minimiser of the unweighted mean.
TEST(QuadraticProblem, TheMinimiserZeroesTheGradient) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const QuadraticProblem problem = seeded(kSeed);
  std::vector<float> at_best;
  for (const double x : problem.minimiser()) at_best.push_back(static_cast<float>(x));
  const std::vector<float> at_zero(problem.dimension, 0.0f);
  EXPECT_LT(problem.gradient_norm_squared(at_best), 1e-12);
  EXPECT_GT(problem.gradient_norm_squared(at_zero), 1e-3);
}

// Mean curvatures: 1/4 * 1 + 3/4 * 5 = 4 and 1/4 * 3 + 3/4 * 2 = 2.25. Pulls: 3/4 * 5 * 2 = 7.5 and
// 1/4 * 3 * 1 - 3/4 * 2 * 1 = -0.75. The gradient at 0 is minus the pull.
TEST(QuadraticProblem, AgreesWithASmallCaseWorkedByHand) {
  const QuadraticProblem problem = by_hand();
  EXPECT_DOUBLE_EQ(problem.smoothness(), 4);
  EXPECT_DOUBLE_EQ(problem.smoothness_of_parts(), std::sqrt(0.25 * 9 + 0.75 * 25));
  EXPECT_THAT(problem.minimiser(), ElementsAre(1.875, -0.75 / 2.25));
  EXPECT_DOUBLE_EQ(problem.gradient_norm_squared(std::vector<float>{0, 0}),
                   7.5 * 7.5 + 0.75 * 0.75);
}

TEST(QuadraticProblem, ASeedGivesTheSameProblemEverywhereAndAnotherSeedAnother) {
  const QuadraticProblem one = seeded(kSeed), same = seeded(kSeed), other = seeded(kSeed + 1);
  EXPECT_EQ(one.a, same.a);
  EXPECT_EQ(one.b, same.b);
  EXPECT_NE(one.a, other.a);
  EXPECT_NE(one.b, other.b);
  EXPECT_NE(one.b[0], one.b[1]) << "nodes differ";
}

// Seen to fail without the scaling per coordinate, and without the shuffle of the coordinates.
TEST(QuadraticProblem, TheMeansCurvaturesFallGeometricallyFromOneToOneOverTheCondition) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const QuadraticProblem problem = seeded(kSeed);
  std::vector<double> means(problem.dimension, 0.0);
  for (std::size_t j = 0; j < problem.dimension; ++j) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GT(problem.a[i][j], 0);
      means[j] += problem.weights[i] * problem.a[i][j];
    }
  }
  EXPECT_FALSE(std::is_sorted(means.rbegin(), means.rend())) << "scattered over the shards";
  std::sort(means.rbegin(), means.rend());
  for (std::size_t j = 0; j < problem.dimension; ++j)
    EXPECT_NEAR(means[j], std::pow(100.0, -static_cast<double>(j) / 49), 1e-12);
  EXPECT_NEAR(problem.smoothness(), 1, 1e-12);
  EXPECT_GT(problem.smoothness_of_parts(), 1) << "the parts are rougher than their mean";
}

TEST(QuadraticProblem, HeterogeneityIsTheSpreadOfTheNodesMinima) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  QuadraticOptions config;
  config.dimension = 5000;
  config.heterogeneity = 0;
  const QuadraticProblem alike = make_quadratic(config, 2, {}, kSeed);
  EXPECT_THAT(alike.b, Each(Each(1.0)));
  config.heterogeneity = 3;
  const QuadraticProblem apart = make_quadratic(config, 2, {}, kSeed);
  double sum = 0, squares = 0;
  for (const double b : apart.b[1]) sum += b - 1, squares += (b - 1) * (b - 1);
  EXPECT_NEAR(sum / 5000, 0, 5 * 3 / std::sqrt(5000)) << "within five standard errors";
  EXPECT_NEAR(std::sqrt(squares / 5000), 3, 5 * 3 / std::sqrt(10000));
}

TEST(QuadraticProblem, WeightsAreScaledToSumToOneAndEqualWhenNoneAreGiven) {
  EXPECT_THAT(seeded(kSeed, 2, {1, 3}).weights, ElementsAre(0.25, 0.75));
  EXPECT_THAT(seeded(kSeed, 4, {}).weights, Each(0.25));
}

// alpha = 3/4: theta = 1/2, beta = (1/4) / (1/2) = 1/2, so beta/theta = 1.
// alpha = 7/16: theta = 1/4, beta = (9/16) / (1/4) = 9/4, so beta/theta = 9.
// Seen to fail with the two alphas exchanged and with the factor 1 + beta/theta left out.
TEST(TheoryStepSize, AgreesWithNumbersWorkedByHand) {
  EXPECT_DOUBLE_EQ(theory_step_size(4, 7, 1, 1), 0.25) << "nothing dropped: 1/L";
  EXPECT_DOUBLE_EQ(theory_step_size(1, 5, 1, 0.75), 1 / (1 + std::sqrt(2.0)));
  EXPECT_DOUBLE_EQ(theory_step_size(1, 1, 0.75, 1), 1 / (1 + std::sqrt(4.0)));
  EXPECT_DOUBLE_EQ(theory_step_size(1, 1, 0.75, 0.75), 1 / (1 + std::sqrt(2.0 + 8.0)));
  // 2 * 1 * 3^2 + 4 * 9 * (1 + 1) * 5^2 = 18 + 1800
  EXPECT_DOUBLE_EQ(theory_step_size(3, 5, 0.4375, 0.75), 1 / (3 + std::sqrt(1818.0)));
}

TEST(TheoryStepSize, ShrinksAsLessIsKept) {
  double before = theory_step_size(1, 1, 1, 1);
  for (const double alpha : {0.5, 0.1, 0.05, 0.001}) {
    const double now = theory_step_size(1, 1, alpha, alpha);
    EXPECT_LT(now, before);
    EXPECT_GT(now, 0);
    before = now;
  }
}

}  // namespace
}  // namespace kimesh::quadratic_test
