// natural: what its paper promises, over many seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "kimesh/compress/compressor.h"
#include "tests/compress/vectors.h"

namespace kimesh::natural_test {
namespace {

constexpr std::uint32_t kSeeds = 4000;

// What the far side adds for this vector, with this seed.
std::vector<float> sent(const std::vector<float>& x, std::uint32_t seed) {
  CompressScratch scratch;
  std::vector<float> estimate(x.size(), 0.0f);
  Setting setting = setting_of("natural");
  setting.rotation = seed;
  const std::vector<Piece> pieces{{0, x.size()}};
  const auto made = advance(x, estimate, pieces, setting, scratch);
  EXPECT_TRUE(made.ok());
  EXPECT_EQ(made->bytes.size(), x.size() + (x.size() + 7) / 8);
  return estimate;
}

double squared_error(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j)
    sum += (double{x[j]} - double{y[j]}) * (double{x[j]} - double{y[j]});
  return sum;
}

double energy(const std::vector<float>& x) {
  return squared_error(x, std::vector<float>(x.size(), 0.0f));
}

std::vector<float> gaussian(std::size_t size) {
  Random random = stream(5);
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

// Seen to fail with elements rounded to the nearer power, and with the draw compared to half of the
// mantissa.
TEST(Natural, IsUnbiased) {
  const std::vector<float> x{1, -1, 1.5f, -1.25f, 3.9f, 1e-20f, -7e30f, 4.0f / 3, 0, 100, -0.001f};
  std::vector<double> mean(x.size());
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<float> y = sent(x, seed);
    for (std::size_t j = 0; j < x.size(); ++j) mean[j] += double{y[j]} / kSeeds;
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double deviation = std::abs(double{x[j]}) / std::sqrt(8.0 * kSeeds);
    EXPECT_NEAR(mean[j], x[j], 5 * deviation) << "element " << j;
  }
}

// 4/3 of a power of two has the most: exactly 1/8 in the mean. Seen to fail with every element
// rounded up with probability 1/2.
TEST(Natural, HasARelativeVarianceOfAtMostAnEighth) {
  for (const std::vector<float>& x : {gaussian(500), std::vector<float>(500, 4.0f / 3)}) {
    double sum = 0;
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) sum += squared_error(x, sent(x, seed));
    EXPECT_LE(sum / kSeeds / energy(x), 0.125 * 1.01);
    EXPECT_GE(sum / kSeeds / energy(x), 0.05);
  }
}

// Seen to fail with draws of a constant seed.
TEST(Natural, DrawsByTheSettingsSeed) {
  const std::vector<float> x = gaussian(200);
  EXPECT_EQ(sent(x, 7), sent(x, 7));
  EXPECT_NE(sent(x, 7), sent(x, 8));
}

TEST(Natural, RoundsWithoutADrawWhereItMust) {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> x{0x1p-126f, 0x1p-127f, largest, -largest, 0x1p5f, -0x1p-9f, -0.0f};
  const std::vector<float> expected{0x1p-126f, 0, 0x1p127f, -0x1p127f, 0x1p5f, -0x1p-9f, 0};
  for (std::uint32_t seed = 0; seed < 50; ++seed) EXPECT_EQ(sent(x, seed), expected);
}

}  // namespace
}  // namespace kimesh::natural_test
