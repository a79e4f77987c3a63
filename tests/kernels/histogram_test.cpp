#include "kimesh/kernels/histogram.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kimesh/util/random.h"

namespace kimesh::kernels::histogram_test {
namespace {

// The definition: every element by itself.
std::vector<MagnitudeBin> counted(std::span<const float> x) {
  std::vector<MagnitudeBin> bins(kMagnitudeBins);
  for (const float value : x) {
    const float magnitude = std::abs(value);
    const std::size_t b = magnitude_bin(magnitude);
    bins[b].count += 1;
    if (b == 0) {
      bins[b].above_edge += (1u << kMagnitudeBinBits) - 1;  // a zero, as far below as can be
      continue;
    }
    const auto edge = static_cast<std::uint32_t>((b - 1) << kMagnitudeBinBits);
    bins[b].above_edge += std::bit_cast<std::uint32_t>(magnitude) - edge - 1;
  }
  return bins;
}

void expect_counted(std::span<const float> x) {
  MagnitudeHistogram histogram;
  histogram.reset(x.size(), MagnitudeHistogram::Counts::kAll);
  histogram.add(x, {});
  const std::vector<MagnitudeBin> expected = counted(x);
  const std::span<const MagnitudeBin> bins = histogram.bins();
  for (std::size_t b = 0; b < kMagnitudeBins; ++b)
    ASSERT_TRUE(bins[b] == expected[b]) << x.size() << " elements, bin " << b;
}

// Seen to fail with tables that hold 2^23 elements before they are emptied.
TEST(MagnitudeHistogram, CountsEveryElementAndItsDistanceFromTheEdge) {
  Random random(5, 0, 0, Purpose::kTest);
  for (const std::size_t size : {1u, 15u, 16u, 17u, 1000u, 20000u}) {
    std::vector<float> x;
    for (std::size_t i = 0; i < size; ++i) {
      const auto normal = static_cast<float>(random.normal());
      x.push_back(i % 7 == 0 ? 0.0f : normal * std::exp(8 * static_cast<float>(random.normal())));
    }
    expect_counted(x);
  }
  // The largest distance, often enough to pass what a table's number has room for.
  const float below_edge = std::bit_cast<float>((127u << 23) + (1u << kMagnitudeBinBits));
  expect_counted(std::vector<float>((std::size_t{1} << 23) + 5, below_edge));
  expect_counted(std::vector<float>((std::size_t{1} << 23) + 5, std::bit_cast<float>(1u)));
}

}  // namespace
}  // namespace kimesh::kernels::histogram_test
