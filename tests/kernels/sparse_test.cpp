#include "kimesh/kernels/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kimesh::kernels::sparse_test {
namespace {

// Numbers as a message has them: at an odd address.
class Bytes {
 public:
  template <typename T>
  explicit Bytes(const std::vector<T>& numbers) : bytes_(1 + numbers.size() * sizeof(T)) {
    if (!numbers.empty())
      std::memcpy(bytes_.data() + 1, numbers.data(), numbers.size() * sizeof(T));
  }
  [[nodiscard]] std::span<const std::byte> span() const { return std::span(bytes_).subspan(1); }

 private:
  std::vector<std::byte> bytes_;
};

// Places around what is looked at in one go (64, after the first), and behind the last whole one.
const std::vector<std::size_t> kPlaces{0,    1,    2,    63,   64,   65,  1024,
                                       1025, 2943, 2944, 2945, 2946, 2999};
constexpr std::size_t kCount = 3000;

std::vector<std::uint32_t> every_third() {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < kCount; ++i) indices.push_back(3 * i);
  return indices;
}

struct Message {
  std::vector<std::uint32_t> indices = every_third();
  std::vector<float> values = std::vector<float>(kCount, std::numeric_limits<float>::max());
  std::size_t size = 3 * kCount;
  [[nodiscard]] bool is_correct() const {
    return all_entries_correct(Bytes(indices).span(), Bytes(values).span(), size);
  }
};

// Seen to fail with registers compared with themselves, with equal indices let through, with the
// size compared with the last register alone, and without the values of the upper registers.
TEST(Sparse, OneLookTellsWhetherAllEntriesAreCorrect) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(Message().is_correct());
  EXPECT_TRUE(all_entries_correct({}, {}, 0));
  for (const std::size_t place : kPlaces) {
    Message message;
    message.size = message.indices[place];
    EXPECT_FALSE(message.is_correct()) << place;
    message.size += place == kCount - 1 ? 1 : 0;
    EXPECT_EQ(message.is_correct(), place == kCount - 1) << place;
    message = {};
    message.indices[place] = 0xffffffff;  // far outside, between two that are in order
    EXPECT_FALSE(message.is_correct()) << place;
    message = {};
    if (place > 0) message.indices[place] = message.indices[place - 1];
    EXPECT_EQ(message.is_correct(), place == 0) << place;
    for (const float bad : {infinity, -infinity, std::nanf(""), -std::nanf("")}) {
      message = {};
      message.values[place] = bad;
      EXPECT_FALSE(message.is_correct()) << place;
    }
  }
}

// Seen to fail with the last entry left out.
TEST(Sparse, OneLookTakesMessagesOfEveryLength) {
  for (std::size_t count = 1; count < 200; ++count) {
    Message message;
    message.indices.resize(count);
    message.values.resize(count);
    EXPECT_TRUE(message.is_correct()) << count;
    message.size = message.indices.back();
    EXPECT_FALSE(message.is_correct()) << count;
    message = {message.indices, message.values};
    message.values.back() = std::nanf("");
    EXPECT_FALSE(message.is_correct()) << count;
  }
}

// Seen to fail with `<=` for `<`.
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

// Seen to fail with the last values left out, and with the entries of a pair exchanged.
TEST(Sparse, AddsEachValueToItsPlace) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{135},
                                  std::size_t{136}, std::size_t{137}, std::size_t{144}, kCount}) {
    std::vector<std::uint32_t> indices = every_third();
    indices.resize(count);
    std::vector<float> values, estimate(3 * kCount, 1.0f), expected = estimate;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(0.25f * static_cast<float>(i + 1));
      expected[3 * i] += values.back();
    }
    add_sparse(Bytes(indices).span(), Bytes(values).span(), estimate);
    EXPECT_EQ(estimate, expected) << count;
  }
}

}  // namespace
}  // namespace kimesh::kernels::sparse_test
