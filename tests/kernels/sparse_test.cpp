#include "kernels/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kimesh::kernels {
namespace {

// Numbers as a message has them: at an odd address.
class Bytes {
 public:
  template <typename T>
  explicit Bytes(const std::vector<T>& numbers) : bytes_(1 + numbers.size() * sizeof(T)) {
    std::memcpy(bytes_.data() + 1, numbers.data(), numbers.size() * sizeof(T));
  }
  [[nodiscard]] std::span<const std::byte> span() const { return std::span(bytes_).subspan(1); }

 private:
  std::vector<std::byte> bytes_;
};

// Sizes and places around what is looked at in one go (1024).
const std::vector<std::size_t> kPlaces{0, 1, 2, 1022, 1023, 1024, 1025, 2047, 2048, 2999};
constexpr std::size_t kCount = 3000;

std::vector<std::uint32_t> every_third() {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < kCount; ++i) indices.push_back(3 * i);
  return indices;
}

// Seen to fail with registers compared with themselves, with `<=` for `<`, and with no index but
// the last of a part compared with the size.
TEST(Sparse, FindsTheFirstIndexThatIsOutOfOrder) {
  EXPECT_EQ(first_out_of_order(Bytes(every_third()).span(), 3 * kCount), std::nullopt);
  EXPECT_EQ(first_out_of_order({}, 0), std::nullopt);
  for (const std::size_t place : kPlaces) {
    std::vector<std::uint32_t> indices = every_third();
    EXPECT_EQ(first_out_of_order(Bytes(indices).span(), indices[place]), place);
    if (place == 0) continue;
    indices[place] = indices[place - 1];
    EXPECT_EQ(first_out_of_order(Bytes(indices).span(), 3 * kCount), place);
    indices = every_third();
    indices[place - 1] = 0xffffffff;  // far outside, between two that are in order
    EXPECT_EQ(first_out_of_order(Bytes(indices).span(), 3 * kCount), place - 1);
  }
}

// Seen to fail with the values that fill no group left out.
TEST(Sparse, FindsTheFirstValueThatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::nanf(""), -std::nanf("")})
    for (const std::size_t place : kPlaces) {
      std::vector<float> values(kCount, std::numeric_limits<float>::max());
      EXPECT_EQ(first_value_not_finite(Bytes(values).span()), std::nullopt);
      values[kCount - 1] = values[place] = bad;
      EXPECT_EQ(first_value_not_finite(Bytes(values).span()), place);
    }
}

// Seen to fail with the last values left out.
TEST(Sparse, AddsEachValueToItsPlace) {
  std::vector<float> values, estimate(3 * kCount, 1.0f), expected = estimate;
  for (std::size_t i = 0; i < kCount; ++i) {
    values.push_back(0.25f * static_cast<float>(i));
    expected[3 * i] += values.back();
  }
  add_sparse(Bytes(every_third()).span(), Bytes(values).span(), estimate);
  EXPECT_EQ(estimate, expected);
  add_sparse({}, {}, estimate);
  EXPECT_EQ(estimate, expected);
}

}  // namespace
}  // namespace kimesh::kernels
