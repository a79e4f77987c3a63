// How elements are shared among layers: against brute force where it can be had, against the
// Lagrangian bound where it cannot.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <numeric>
#include <string>

#include "kimesh/policy/kimad_plus.h"
#include "tests/policy/curves.h"

namespace kimesh::allocation_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sum {
  double cost = 0, error = 0;
};

Sum sum_of(const std::vector<Menu>& menus, const std::vector<std::uint32_t>& choice) {
  Sum sum;
  for (std::size_t l = 0; l < menus.size(); ++l) {
    sum.cost += menus[l].at(choice[l]).cost;
    sum.error += menus[l].at(choice[l]).error;
  }
  return sum;
}

// The least error of all ways to choose.
double best_error(const std::vector<Menu>& menus, double budget, std::size_t from = 0) {
  if (budget < 0) return kInfinity;
  if (from == menus.size()) return 0;
  double best = kInfinity;
  for (const MenuItem& item : menus[from])
    best = std::min(best, item.error + best_error(menus, budget - item.cost, from + 1));
  return best;
}

double cheapest_sum(const std::vector<Menu>& menus) {
  double sum = 0;
  for (const Menu& menu : menus) sum += std::ranges::min_element(menu, {}, &MenuItem::cost)->cost;
  return sum;
}

// Costs are whole numbers of `unit` above a cheapest one, errors anything.
std::vector<Menu> random_menus(Random& random, double unit) {
  std::vector<Menu> menus(1 + random.below(5));
  for (Menu& menu : menus) {
    const double cheapest = random.below(100);
    menu.resize(1 + random.below(5));
    for (MenuItem& item : menu) item = {cheapest + unit * random.below(20), random.uniform()};
    menu[random.below(static_cast<std::uint32_t>(menu.size()))].cost = cheapest;
  }
  return menus;
}

// Seen to fail with one bin too few.
TEST(Knapsack, IsTheOptimumWhereCostsAreWholeBins) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    const double unit = 1 + random.below(1000);
    const auto menus = random_menus(random, unit);
    const unsigned bins = 1 + random.below(60);
    const double budget = cheapest_sum(menus) + unit * bins;
    const Sum sum = sum_of(menus, knapsack(menus, budget, bins));
    ASSERT_LE(sum.cost, budget);
    ASSERT_NEAR(sum.error, best_error(menus, budget), 1e-5);
  }
}

// Each menu loses less than one bin to rounding. Seen to fail with costs rounded to the nearest
// bin: then the budget is passed.
TEST(Knapsack, LosesNoMoreThanABinForEachLayerToRounding) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    auto menus = random_menus(random, 17);
    for (Menu& menu : menus)
      for (MenuItem& item : menu) item.cost += random.uniform();
    const double least = cheapest_sum(menus), left = 300 * random.uniform();
    const unsigned bins = 5 + random.below(100);
    const Sum sum = sum_of(menus, knapsack(menus, least + left, bins));
    const double lost = static_cast<double>(menus.size()) * left / bins;
    ASSERT_LE(sum.cost, least + left + 1e-9);
    ASSERT_GE(sum.error, best_error(menus, least + left) - 1e-5);
    if (lost > left) continue;
    ASSERT_LE(sum.error, best_error(menus, least + left - lost) + 1e-5);
  }
}

TEST(Knapsack, TakesTheCheapestWhereTheBudgetDoesNotHoldThem) {
  const std::vector<Menu> menus{{{5, 0}, {2, 1}, {2, 0.5}}, {{3, 7}}};
  EXPECT_EQ(knapsack(menus, 4, 10), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(knapsack(menus, 5, 10), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(knapsack(menus, 8, 1), (std::vector<std::uint32_t>{0, 0}));
  EXPECT_TRUE(knapsack({}, 8, 1).empty());
}

// With one bin the program can only choose for nothing or all; the rest is spent afterwards.
// Seen to fail when the rest was not spent.
TEST(Knapsack, SpendsWhatRoundingLeftOver) {
  const std::vector<Menu> menus{{{0, 10}, {4, 1}}, {{0, 10}, {4, 2}}, {{0, 10}, {4, 9}}};
  EXPECT_EQ(knapsack(menus, 9, 1), (std::vector<std::uint32_t>{1, 1, 0}));
}

Curve layers(std::size_t count, Random& random) {
  Curve curve;
  for (std::size_t l = 0; l < count; ++l) {
    const auto size = static_cast<std::size_t>(10 * std::pow(300, random.uniform()));
    curve.push_back(random_curve(size, std::pow(10, 2 * random.uniform()), random));
  }
  return curve;
}

std::size_t size_of_all(const Curve& curve) {
  return std::accumulate(curve.begin(), curve.end(), std::size_t{0},
                         [](std::size_t sum, const PieceCurve& piece) { return sum + piece.size; });
}

// No choice within the budget is better than max over λ of Σ min (error + λ cost) − λ budget.
double lagrangian_bound(const std::vector<Menu>& menus, double budget) {
  double best = 0;
  for (double lambda = 1e-9; lambda < 1e9; lambda *= 1.02) {
    double bound = -lambda * budget;
    for (const Menu& menu : menus) {
      double least = kInfinity;
      for (const MenuItem& item : menu) least = std::min(least, item.error + lambda * item.cost);
      bound += least;
    }
    best = std::max(best, bound);
  }
  return best;
}

TEST(Knapsack, IsNearTheLagrangianBoundOnManyLayers) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    const Curve curve = layers(60, random);
    std::vector<Menu> menus;
    for (const PieceCurve& piece : curve) {
      Menu& menu = menus.emplace_back();
      for (double k = 1; k < piece.size; k = std::ceil(k * 1.4))
        menu.push_back({8 * k, piece.missing_energy(k)});
    }
    const double budget = 8 * 0.05 * static_cast<double>(size_of_all(curve));
    const double ratio =
        sum_of(menus, knapsack(menus, budget, 1000)).error / lagrangian_bound(menus, budget);
    EXPECT_GE(ratio, 0.9999);
    EXPECT_LE(ratio, 1.03);
    worst = std::max(worst, ratio);
  }
  std::printf("knapsack over the Lagrangian bound, worst of 20 seeds: %.4f\n", worst);
}

// The least missing energy of all ways to keep `total` whole elements.
double best_split(const Curve& curve, const std::vector<double>& floors, std::uint32_t total,
                  std::size_t from = 0) {
  if (from == curve.size()) return total == 0 ? 0 : kInfinity;
  double best = kInfinity;
  for (auto k = static_cast<std::uint32_t>(floors[from]); k <= curve[from].size && k <= total; ++k)
    best = std::min(best,
                    curve[from].missing_energy(k) + best_split(curve, floors, total - k, from + 1));
  return best;
}

// Seen to fail when floors were added on top of what the threshold gave.
TEST(Threshold, IsTheOptimumWhereEveryElementCostsTheSame) {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    Curve all(1 + random.below(4));
    std::vector<Curve> single;
    std::vector<const Curve*> curves;
    std::vector<double> floors;
    for (PieceCurve& piece : all) {
      std::vector<double> magnitudes(1 + random.below(8));
      for (double& m : magnitudes) m = 0.01 + random.uniform();
      piece = exact_curve(magnitudes);
      floors.push_back(random.below(piece.size + 1));
      single.push_back({piece});
    }
    for (const Curve& curve : single) curves.push_back(&curve);
    const auto least =
        static_cast<std::uint32_t>(std::accumulate(floors.begin(), floors.end(), 0.0));
    const auto most = static_cast<std::uint32_t>(size_of_all(all));
    const std::uint32_t total = least + random.below(most - least + 1);
    const std::vector<double> keep = threshold_allocation(curves, total, floors);
    ASSERT_NEAR(std::accumulate(keep.begin(), keep.end(), 0.0), total, 1e-9);
    double missing = 0;
    for (std::size_t c = 0; c < keep.size(); ++c) {
      ASSERT_GE(keep[c], floors[c]);
      missing += all[c].missing_energy(keep[c]);
    }
    ASSERT_NEAR(missing, best_split(all, floors, total), 1e-9);
  }
}

TEST(Threshold, KeepsTheFloorsWhereTheyAreMoreThanThereIs) {
  const Curve zeros{{10, {{0, 0}}}}, ones{exact_curve({1, 1, 1})};
  const std::vector<const Curve*> curves{&zeros, &ones};
  const std::vector<double> floors{2, 1};
  EXPECT_EQ(threshold_allocation(curves, 1, floors), (std::vector<double>{2, 1}));
  EXPECT_EQ(threshold_allocation(curves, 4, floors), (std::vector<double>{2, 2}));
  EXPECT_EQ(threshold_allocation(curves, 9, floors), (std::vector<double>{2, 3})) << "only zeros";
  EXPECT_TRUE(threshold_allocation({}, 9, {}).empty());
}

// Seen to fail when what was left over was not given.
TEST(KnapsackShares, SumToWhatIsKeptAndKeepTheFloors) {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    Curve curve = layers(1 + random.below(8), random);
    if (random.below(3) == 0) curve[0].points = {{0, 0}};  // nothing but zeros
    const auto size = static_cast<std::uint32_t>(size_of_all(curve));
    const std::uint32_t floor = 1 + random.below(1 + size / 50);
    const std::uint32_t keep = floor + random.below(size - floor + 1);
    const auto shares = knapsack_shares(curve, keep, floor, random.next_u32(), 2 + random.below(30),
                                        100 + random.below(900));
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), 0u), keep);
    for (std::size_t l = 0; l < curve.size(); ++l) {
      ASSERT_LE(shares[l], curve[l].size);
      ASSERT_GE(shares[l] + 1.0, std::floor(1.0 * floor * curve[l].size / size));
    }
  }
}

TEST(KnapsackShares, AreNearTheOptimumAndFarFromOneRatioForAll) {
  double worst = 0, best_gain = kInfinity;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    const Curve curve = layers(53, random);
    const auto size = static_cast<std::uint32_t>(size_of_all(curve));
    const std::uint32_t floor = size / 1000, keep = size / 20;
    std::vector<std::uint32_t> even;
    for (const PieceCurve& piece : curve) even.push_back(piece.size / 20);
    const double by_knapsack =
        missing_energy(curve, knapsack_shares(curve, keep, floor, 0, 20, 1000));
    const Curve* const whole = &curve;
    std::vector<Curve> single;
    for (const PieceCurve& piece : *whole) single.push_back({piece});
    std::vector<const Curve*> curves;
    for (const Curve& one : single) curves.push_back(&one);
    const std::vector<double> none(curves.size());
    const auto optimum = threshold_allocation(curves, keep, none);
    double least = 0;
    for (std::size_t l = 0; l < curve.size(); ++l) least += curve[l].missing_energy(optimum[l]);
    EXPECT_GE(by_knapsack / least, 0.9999);
    EXPECT_LE(by_knapsack / least, 1.05);
    worst = std::max(worst, by_knapsack / least);
    best_gain = std::min(best_gain, missing_energy(curve, even) / by_knapsack);
  }
  EXPECT_GE(best_gain, 1.3);
  std::printf("knapsack over the optimum, worst of 20 seeds: %.4f; one ratio over it: %.2f\n",
              worst, best_gain);
}

// The last round of a run that diverges. Seen to fail: an energy that is no number was a place
// outside of the table.
TEST(ThresholdAllocation, TakesDifferencesNearTheLargestFloat) {
  std::vector<float> values(1000, 0.5f);
  values[3] = 3.3e38f;
  const Piece piece{0, values.size()};
  const Curve curve = measure_curve(values, std::span(&piece, 1));
  for (const CurvePoint& point : curve[0].points) EXPECT_TRUE(std::isfinite(point.missing_energy));
  const std::vector<const Curve*> curves{&curve, &curve};
  const std::vector<double> floors{1, 1};
  EXPECT_EQ(threshold_allocation(curves, 100, floors).size(), 2u);
}

}  // namespace
}  // namespace kimesh::allocation_test
