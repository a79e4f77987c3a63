// What dzq promises beside the contract of all compressors: steps, budgets, floors, estimates.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "kimesh/compress/compressor.h"
#include "src/dzq/cost.h"
#include "src/dzq/message.h"
#include "tests/dzq/send.h"
#include "tests/residual/residual.h"

namespace kimesh::dzq_test {
namespace {

double share_missing(const Sent& sent) {
  return sent.made.missing_energy / sent.made.wanted_energy;
}

// The definition: beyond the dead zone nothing is off by more than a step. The header's step is
// within 1/256 of the wanted one, and not over it. Seen to fail with the step rounded up.
TEST(Dzq, LeavesLessThanAStepOfWhatItSends) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random = stream(seed);
    const auto kind = random.below(2) == 0 ? VectorKind::kGaussian : VectorKind::kHeavyTailed;
    const std::vector<float> x = vector_of(random, kind, 3000);
    const float largest = std::abs(std::ranges::max(x, {}, [](float v) { return std::abs(v); }));
    const float step = std::max(std::abs(x[random.below(3000)]) / 3, 1e-6f * largest);
    const std::vector<Piece> pieces{{0, x.size()}};
    const Sent sent = send(x, pieces, dzq(kRoundings[seed % 2], 0, step));
    for (std::size_t j = 0; j < x.size(); ++j) {
      const float left = std::abs(x[j] - sent.values[j]);
      ASSERT_LE(left, (sent.values[j] == 0 ? 1.25f : 1.0f) * step) << "seed " << seed;
      ASSERT_TRUE(sent.values[j] != 0 || std::abs(x[j]) < 1.25f * step);
    }
  }
}

TEST(Dzq, RoundsStepsDownByLessThanOnePartIn256) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random = stream(seed);
    const double step = std::exp(200 * random.uniform() - 100);
    const double code = dzq::step_of(dzq::step_code_of(step));
    if (step < 0x1p-149 || step > 0x1p107) continue;
    EXPECT_LE(code, step);
    EXPECT_GT(code, step * (1 - 1.0 / 256));
  }
}

// Seen to fail with three bytes over the budget let pass, and with ties never counted down.
TEST(Dzq, NeverPassesItsBudgetAndUsesIt) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random = stream(seed);
    const auto kind = static_cast<VectorKind>(random.below(kKinds));
    const std::size_t size = 2000 + random.below(30000);
    const std::vector<float> x = vector_of(random, kind, size);
    Setting setting =
        dzq(kRoundings[seed % 2],
            20 + static_cast<std::uint64_t>(std::exp(9 * random.uniform()) * random.uniform()));
    const std::vector<Piece> pieces{{0, size}};
    const Sent sent = send(x, pieces, setting);
    ASSERT_LE(sent.made.bytes.size(), setting.budget.amount) << "seed " << seed;
    const bool plenty = kind == VectorKind::kGaussian || kind == VectorKind::kHeavyTailed ||
                        kind == VectorKind::kConstant || kind == VectorKind::kTies;
    if (!plenty || setting.budget.amount < 200 || sent.made.kept == size) continue;
    const std::size_t zeros = static_cast<std::size_t>(std::ranges::count(x, 0.0f));
    if (sent.made.kept == size - zeros) continue;  // all of it went
    EXPECT_GE(static_cast<double>(sent.made.bytes.size()),
              0.97 * static_cast<double>(setting.budget.amount) - 4)
        << "seed " << seed << ", kind " << static_cast<int>(kind) << ", budget "
        << setting.budget.amount;
  }
}

// Where all are equal, no step sends some of them: the lower indices go.
TEST(Dzq, SendsTheFirstOfEqualElements) {
  const std::vector<float> x(20000, -0.37f);
  const std::vector<Piece> pieces{{0, x.size()}};
  const Sent sent = send(x, pieces, dzq(Rounding::kTowardsZero, 100));
  ASSERT_GT(sent.made.kept, 100u);
  for (std::size_t j = 0; j < x.size(); ++j)
    ASSERT_EQ(sent.values[j] != 0, j < sent.made.kept) << "element " << j;
}

// A loud piece of many equal elements beside a quiet one, both with floors: what is cut off at a
// rank is not what a floor sends anyway. Seen to fail, by never ending, with limits that were
// sought among what is sent.
TEST(DzqFloor, FindsAnEndWhereTiesAndFloorsMeet) {
  constexpr std::size_t kQuiet = 40000, kLoud = 4000;
  const std::vector<Piece> pieces{{0, kQuiet}, {kQuiet, kLoud}};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random = stream(seed);
    const auto sign = [&] { return random.below(2) == 0 ? 1.0f : -1.0f; };
    const float spread = seed % 2 == 0 ? 0.0f : 0.1f;
    std::vector<float> x(kQuiet + kLoud);
    for (float& value : x)
      value = 0.1f * sign() * (1 + spread * static_cast<float>(random.uniform()));
    for (int i = 0; i < 80; ++i) x[random.below(kQuiet)] = sign();
    for (std::size_t j = kQuiet; j < x.size(); ++j) x[j] = 0.5f * sign();
    Setting setting = dzq(kRoundings[seed / 2 % 2], 200 + 100 * random.below(12));
    setting.floor = 50 + random.below(200);
    const Sent sent = send(x, pieces, setting);
    EXPECT_LE(sent.made.bytes.size(), setting.budget.amount) << "seed " << seed;
    EXPECT_GE(static_cast<double>(sent.made.bytes.size()),
              0.9 * static_cast<double>(setting.budget.amount))
        << "seed " << seed << ", budget " << setting.budget.amount << ", floor " << setting.floor;
  }
}

// Bytes that no step needs stay unused, since the last of eight bins cuts off what lies beyond it.
TEST(Dzq, SendsNothingWhereNothingDiffers) {
  const std::vector<float> x(500, 0.0f);
  const Sent sent = send(x, std::vector<Piece>{{0, 500}}, dzq(Rounding::kNearest, 100));
  EXPECT_TRUE(sent.made.bytes.empty());
  EXPECT_EQ(sent.made.kept, 0u);
}

TEST(Dzq, SendsOneElementInTheSmallestMessage) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random = stream(seed);
    const auto kind = random.below(2) == 0 ? VectorKind::kGaussian : VectorKind::kHeavyTailed;
    const std::vector<float> x = vector_of(random, kind, 1 + random.below(100000));
    Setting setting = dzq(kRoundings[seed % 2], 0);
    setting.budget = Budget::bytes(setting.codec->bytes_min(x.size()));
    const Sent sent = send(x, std::vector<Piece>{{0, x.size()}}, setting);
    ASSERT_GE(sent.made.kept, 1u) << "seed " << seed;
  }
}

// Values that are rounded up may overflow: towards zero then. Seen to fail without that.
TEST(Dzq, StaysFiniteNextToTheLargestFloat) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> x{kMax, 1, 0, 0, 0};
  for (float step = kMax; step > 1e31f; step *= 0.9f) {
    const Sent sent = send(x, std::vector<Piece>{{0, 5}}, dzq(Rounding::kNearest, 0, step));
    for (const float value : sent.values) ASSERT_TRUE(std::isfinite(value));
  }
}

// A piece a thousand times quieter than the others sends its largest all the same. Seen to fail
// with the floor ignored, and with one step looking at what reaches it only.
TEST(DzqFloor, SendsTheLargestOfAQuietPiece) {
  Random random = stream(1);
  std::vector<float> x = vector_of(random, VectorKind::kGaussian, 20000);
  for (std::size_t j = 8000; j < 12000; ++j) x[j] *= 1e-3f;
  const std::vector<Piece> pieces{{0, 8000}, {8000, 4000}, {12000, 8000}};
  const auto sent_of = [&](const Setting& setting) {
    const Sent sent = send(x, pieces, setting);
    if (setting.budget.kind == Budget::Kind::kBytes) {
      EXPECT_LE(sent.made.bytes.size(), setting.budget.amount);
    }
    std::vector<float> far(x.size(), 0.0f);
    EXPECT_TRUE(apply(sent.made.form, sent.made.bytes, far).ok());
    EXPECT_EQ(far, sent.values);
    return std::ranges::count_if(std::span(sent.values).subspan(8000, 4000),
                                 [](float value) { return value != 0; });
  };
  for (const Rounding rounding : kRoundings) {
    Setting setting = dzq(rounding, 1000);
    EXPECT_EQ(sent_of(setting), 0);
    setting.floor = 100;  // 20 of the quiet piece
    EXPECT_EQ(sent_of(setting), 20);
    Setting stepped = dzq(rounding, 0, 1.5e-3f);
    stepped.floor = setting.floor;
    EXPECT_EQ(sent_of(stepped), 20);
  }
}

// Seen to fail with floors that may take all of it.
TEST(DzqFloor, TakesAtMostHalfOfABudget) {
  Random random = stream(2);
  std::vector<float> x = vector_of(random, VectorKind::kGaussian, 20000);
  for (std::size_t j = 10000; j < 20000; ++j) x[j] *= 1e-3f;
  Setting setting = dzq(Rounding::kNearest, 300);
  setting.floor = 10000;
  const Sent sent = send(x, std::vector<Piece>{{0, 10000}, {10000, 10000}}, setting);
  const auto quiet = std::ranges::count_if(std::span(sent.values).subspan(10000),
                                           [](float value) { return value != 0; });
  EXPECT_GE(quiet, 30);
  EXPECT_LE(quiet, 40);
  EXPECT_LE(sent.made.bytes.size(), 300u);
}

// Bytes where 17.5 % of the energy are left out, beside topk with float32 and u32.
// Seen to fail with a coder that takes no notice of neighbours.
TEST(Dzq, TakesAnEleventhOfTheBytesOfTopk) {
  const test::Residual residual = test::make_residual(2'000'000, 1);
  const std::span<const float> x = residual.values.span();
  constexpr double kShare = 0.175;
  const auto bytes_until = [&](auto missing_with) {
    double low = 100, high = 8e6;
    while (high / low > 1.01) {
      const double middle = std::sqrt(low * high);
      (missing_with(static_cast<std::uint64_t>(middle)) > kShare ? low : high) = middle;
    }
    return high;
  };
  const Curve curve = measure_curve(x, std::vector<Piece>{{0, x.size()}});
  const double energy = curve[0].missing_energy(0);
  const double topk = bytes_until([&](std::uint64_t bytes) {
    return curve[0].missing_energy(static_cast<double>(bytes) / 8) / energy;
  });
  const double bars[] = {9.5, 11};
  for (const Rounding rounding : kRoundings) {
    const double bytes = bytes_until([&](std::uint64_t budget) {
      return share_missing(send(x, residual.pieces, dzq(rounding, budget)));
    });
    EXPECT_GT(topk / bytes, bars[static_cast<int>(rounding)]);
  }
}

}  // namespace
}  // namespace kimesh::dzq_test
