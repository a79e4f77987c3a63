#include "kimesh/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/util/random.h"

namespace kimesh::kernels::vector_math_test {
namespace {

constexpr std::uint64_t kSeed = 5;
const std::vector<std::size_t> kSizes{0, 1, 7, 8, 9, 2047, 2048, 2049, 4096, 4103, 10000};

// Magnitudes so uneven that every order of additions rounds in its own way.
std::vector<float> uneven(std::size_t size, std::uint32_t stream) {
  Random random(kSeed, stream, 0, Purpose::kTest);
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(std::exp(4 * random.normal()));
  return x;
}

double lane_sum(const std::vector<float>& x) {
  double lanes[8] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 8] += static_cast<double>(x[i]) * x[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Seen to fail with the tail's elements left out, with lanes that change places, and with lanes
// that are added in another order.
TEST(Energy, HasTheSameBitsAsEightLanesAddedInOrder) {
  for (std::uint32_t stream = 0; stream < 20; ++stream)
    for (const std::size_t size : kSizes) {
      const std::vector<float> x = uneven(size, stream);
      EXPECT_EQ(energy(x), lane_sum(x)) << "seed " << kSeed << ", stream " << stream;
    }
}

TEST(Energy, DoesNotOverflowWhereFloat32Would) {
  const std::vector<float> x(100, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(energy(x)));
}

// Seen to fail with the block's begin left out, as the next one.
TEST(AppendWithEnergy, AppendsTheFloatsAndHasTheBitsOfEnergy) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> x = uneven(size, 1);
    std::vector<std::byte> bytes(3, std::byte{7});
    EXPECT_EQ(append_with_energy(x, bytes), lane_sum(x)) << size;
    ASSERT_EQ(bytes.size(), 3 + 4 * size);
    EXPECT_EQ(bytes[2], std::byte{7});
    const auto appended = std::span(bytes).subspan(3);
    EXPECT_TRUE(std::ranges::equal(appended, std::as_bytes(std::span(x)))) << size;
  }
}

TEST(AppendWithEnergy, IsNotFiniteWhereAnElementIsNot) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")})
    for (const std::size_t place : {0u, 2047u, 2048u, 4999u}) {
      std::vector<float> x(5000, std::numeric_limits<float>::max());
      std::vector<std::byte> bytes;
      EXPECT_TRUE(std::isfinite(append_with_energy(x, bytes)));
      x[place] = bad;
      EXPECT_FALSE(std::isfinite(append_with_energy(x, bytes))) << place;
    }
}

// Seen to fail with terms that all begin at the first block, with the first term's factor left out,
// and with an energy of each block by itself.
TEST(AppendSumWithEnergy, AppendsTheSumInOrderAndHasTheBitsOfItsEnergy) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> a = uneven(size, 1), b = uneven(size, 2), c = uneven(size, 3);
    for (const std::optional<float> factor : {std::optional<float>{}, std::optional(0.3f)}) {
      std::vector<float> sum = a;
      if (factor) scale(*factor, a, sum);
      add(b, sum);
      add_scaled(0.7f, c, sum);
      const std::vector<SumTerm> terms{{a, factor}, {b}, {c, 0.7f}};
      std::vector<std::byte> bytes(3, std::byte{7});
      EXPECT_EQ(append_sum_with_energy(terms, bytes), lane_sum(sum)) << size;
      ASSERT_EQ(bytes.size(), 3 + 4 * size);
      const auto appended = std::span(bytes).subspan(3);
      EXPECT_TRUE(std::ranges::equal(appended, std::as_bytes(std::span(sum)))) << size;
    }
  }
}

// Seen to fail with the block's begin left out of the position.
TEST(FirstNotFinite, FindsTheFirstOfAnyKindAtAnyPlace) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::nanf(""), -std::nanf("")})
    for (const std::size_t place : {0u, 1u, 2047u, 2048u, 4999u}) {
      std::vector<float> x(5000, std::numeric_limits<float>::max());
      EXPECT_EQ(first_not_finite(x), std::nullopt);
      x[4999] = bad;
      x[place] = bad;
      EXPECT_EQ(first_not_finite(x), place);
    }
}

}  // namespace
}  // namespace kimesh::kernels::vector_math_test
