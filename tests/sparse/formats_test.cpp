// The parts of a sparse message: small floats, values, indices, masks.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>

#include "kimesh/kernels/small_floats.h"
#include "kimesh/util/leb128.h"
#include "src/sparse/indices.h"
#include "src/sparse/packed.h"
#include "src/sparse/randk.h"
#include "src/sparse/values.h"
#include "tests/compress/inputs.h"

namespace kimesh::formats_test {
namespace {

std::vector<std::uint32_t> random_indices(Random& random, std::size_t count, std::size_t size) {
  std::set<std::uint32_t> chosen;
  while (chosen.size() < count) chosen.insert(random.below(static_cast<std::uint32_t>(size)));
  return {chosen.begin(), chosen.end()};
}

// The finite binary16 next to x on either side, by trying all.
std::vector<float> all_float16() {
  std::vector<float> all;
  for (std::uint32_t code = 0; code < 0x7c00; ++code)
    all.push_back(kernels::from_float16(static_cast<std::uint16_t>(code)));
  return all;
}

// Seen to fail with ties rounded up, and with denormals shifted by one bit too few.
TEST(SmallFloats, Float16IsTheNextOneTowardsZeroOrTheNearestWithTiesToEven) {
  const std::vector<float> all = all_float16();
  ASSERT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(all[1], 0x1p-24f);
  EXPECT_EQ(all[0x3c00], 1.0f);
  EXPECT_EQ(all.back(), 65504.0f);
  Random random = stream(1);
  for (int n = 0; n < 200000; ++n) {
    const std::size_t below = random.below(0x7800);  // up to 2^15
    const float low = all[below], high = all[below + 1];
    const float middle = low + (high - low) / 2;
    const float x = random.below(4) == 0
                        ? middle
                        : low + (high - low) * 0.0625f * static_cast<float>(random.below(16));
    ASSERT_EQ(kernels::to_float16(x, Rounding::kTowardsZero), below) << x;
    const bool up = x > middle || (x == middle && below % 2 == 1);
    ASSERT_EQ(kernels::to_float16(x, Rounding::kNearest), below + (up ? 1 : 0)) << x;
    ASSERT_EQ(kernels::to_float16(-x, Rounding::kTowardsZero), below | 0x8000) << x;
  }
}

// Seen to fail with ties rounded up.
TEST(SmallFloats, Bfloat16IsTheNextOneTowardsZeroOrTheNearestButNeverInfinite) {
  Random random = stream(2);
  for (int n = 0; n < 200000; ++n) {
    const float x = std::bit_cast<float>(random.next_u32());
    if (!std::isfinite(x)) continue;
    const float low = kernels::from_bfloat16(kernels::to_bfloat16(x, Rounding::kTowardsZero));
    const float near = kernels::from_bfloat16(kernels::to_bfloat16(x, Rounding::kNearest));
    ASSERT_LE(std::abs(low), std::abs(x));
    ASSERT_TRUE(std::isfinite(near));
    const double step = std::abs(static_cast<double>(x)) * 0x1p-7 + 0x1p-133;
    ASSERT_LE(std::abs(static_cast<double>(x) - static_cast<double>(near)),
              std::isfinite(2 * x) ? step / 2 : step);
  }
  EXPECT_EQ(kernels::to_bfloat16(std::numeric_limits<float>::max(), Rounding::kNearest), 0x7f7f);
  EXPECT_EQ(kernels::to_bfloat16(std::bit_cast<float>(0x3f808000), Rounding::kNearest), 0x3f80);
  EXPECT_EQ(kernels::to_bfloat16(std::bit_cast<float>(0x3f818000), Rounding::kNearest), 0x3f82);
}

// Seen to fail with upper parts read from one bit too early.
TEST(Indices, PackedOnesComeBackWhateverTheirNumberIs) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random = stream(seed);
    const std::size_t size = 1 + random.below(random.below(2) == 0 ? 100 : 100000);
    const std::size_t some = 1 + random.below(static_cast<std::uint32_t>(std::min<std::size_t>(
                                     size, random.below(2) == 0 ? 20 : 3000)));
    const std::vector<std::uint32_t> indices = random_indices(random, some, size);
    std::vector<std::byte> bytes(seed % 3);  // begins anywhere
    write_packed_indices(indices, size, bytes);
    ASSERT_EQ(bytes.size() - seed % 3, packed_index_bytes(some, size)) << "seed " << seed;
    std::vector<std::uint32_t> read(some);
    ASSERT_TRUE(read_packed_indices(std::span(bytes).subspan(seed % 3), size, read).ok());
    ASSERT_EQ(read, indices) << "seed " << seed;
  }
}

// What is not written must not be taken from the memory that was there. Seen to fail with the
// number of upper parts not counted.
TEST(Indices, PackedOnesAreRefusedWhereOneIsMissing) {
  const std::vector<std::byte> bytes{std::byte{0b00001}};  // 0 and nothing else
  std::vector<std::uint32_t> read{0, 2};
  EXPECT_FALSE(read_packed_indices(bytes, 4, read).ok());
}

TEST(Indices, PackedOnesTakeLittleMoreThanTheirEntropy) {
  EXPECT_LE(packed_index_bytes(100000, 10000000), 107100u);  // 1 %: 1.01 bytes of entropy
  EXPECT_EQ(packed_index_bytes(1000, 1000), 250u);           // all: two bits each
  EXPECT_LE(packed_index_bytes(1, 0xffffffff), 5u);
  for (std::size_t count = 2; count < 5000; ++count)
    ASSERT_GE(packed_index_bytes(count, 5000), packed_index_bytes(count - 1, 5000));
}

// Seen to fail with the largest of a block left out of its step.
TEST(Values, FourBitsKeepEveryValueWithinItsBin) {
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    for (const Rounding rounding : {Rounding::kTowardsZero, Rounding::kNearest}) {
      Random random = stream(seed);
      kernels::Entries entries;
      entries.resize(1 + random.below(200));
      std::iota(entries.indices.begin(), entries.indices.end(), 0u);
      float lowest = 1e30f, largest = 0;
      for (float& value : entries.values) {
        value = static_cast<float>(random.normal()) + (random.below(2) == 0 ? 4.0f : -4.0f);
        lowest = std::min(lowest, std::abs(value));
        largest = std::max(largest, std::abs(value));
      }
      const std::vector<float> before(entries.values.begin(), entries.values.end());
      std::vector<std::byte> bytes;
      write_values(ValueFormat::kInt4, rounding, true, entries, bytes);
      ASSERT_EQ(entries.size(), before.size());
      ASSERT_EQ(bytes.size(), value_bytes(ValueFormat::kInt4, before.size()));
      const float bin = (largest - lowest) / (rounding == Rounding::kNearest ? 14.0f : 8.0f);
      for (std::size_t i = 0; i < before.size(); ++i)
        ASSERT_LE(std::abs(before[i] - entries.values[i]), bin * 1.08f) << "seed " << seed;
    }
}

// Values just under a level, where the quotient is rounded up to it. Seen to fail with quotients
// taken as they come.
TEST(Values, FourBitsTowardsZeroNeverPassAValue) {
  constexpr std::array<float, 3> kCases[] = {// lowest, step, value
                                             {0x1.31f49cp-17f, 0x1.74p-17f, 0x1.c07d26p-15f},
                                             {0x1.1e962ep-13f, 0x1.36p-12f, 0x1.c54b16p-12f},
                                             {0x1.1cf698p-20f, 0x1.8ep-19f, 0x1.b19ed2p-17f}};
  for (const auto& [lowest, step, value] : kCases) {
    kernels::Entries entries;
    entries.resize(3);
    std::ranges::copy(std::array<std::uint32_t, 3>{0, 1, 2}, entries.indices.begin());
    std::ranges::copy(std::array{lowest, value, lowest + 8.01f * step}, entries.values.begin());
    std::vector<std::byte> bytes;
    write_values(ValueFormat::kInt4, Rounding::kTowardsZero, true, entries, bytes);
    EXPECT_LE(entries.values[1], value);
    EXPECT_GT(entries.values[1], value - 1.01f * step);
  }
}

// A thousandth of the largest keeps its digits, although it is small. Seen to fail with the scale
// taken from the first value.
TEST(Values, Float16KeepsElevenDigitsOfSmallGradients) {
  for (const float size : {1e-30f, 1e-6f, 1.0f, 1e30f}) {
    kernels::Entries entries;
    entries.resize(3);
    std::ranges::copy(std::array<std::uint32_t, 3>{0, 1, 2}, entries.indices.begin());
    std::ranges::copy(std::array{1.2345e-3f * size, -size, 0.777f * size}, entries.values.begin());
    const std::vector<float> before(entries.values.begin(), entries.values.end());
    std::vector<std::byte> bytes;
    write_values(ValueFormat::kFloat16, Rounding::kNearest, true, entries, bytes);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_LE(std::abs(entries.values[i] / before[i] - 1), 0x1p-11f);
  }
}

// Every set of 2 of 5 elements comes as often as any other. Seen to fail with elements drawn from
// all but the last.
TEST(Mask, IsEverySetOfSoManyElementsAsOften) {
  std::map<std::vector<std::uint32_t>, int> times;
  constexpr int kDraws = 20000;
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) ++times[draw_mask(seed, 2, 5)];
  ASSERT_EQ(times.size(), 10u);
  for (const auto& [mask, count] : times) EXPECT_NEAR(count, kDraws / 10, 250);  // 6 deviations
}

TEST(Mask, HasExactlySoManyElementsInOrder) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    Random random = stream(seed);
    const std::size_t size = 1 + random.below(3000);
    const std::size_t count = random.below(static_cast<std::uint32_t>(size) + 1);
    const std::vector<std::uint32_t> mask = draw_mask(seed, count, size);
    ASSERT_EQ(mask.size(), count) << "seed " << seed;
    ASSERT_TRUE(std::ranges::is_sorted(mask));
    ASSERT_EQ(std::ranges::adjacent_find(mask), mask.end());
    ASSERT_TRUE(mask.empty() || mask.back() < size);
  }
}

// Seen to fail without the scale.
TEST(Randk, IsRightOnAverageWhereItIsScaled) {
  CompressScratch scratch;
  const std::vector<float> target{1, -2, 3, 0.5f, 8, -1};
  const std::vector<Piece> pieces{{0, 6}};
  std::vector<double> sum(6);
  constexpr int kDraws = 20000;
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) {
    std::vector<float> estimate(6, 0.0f);
    Setting setting = setting_of("randk", {{"scaled", "true"}}, Budget::keep(2));
    setting.rotation = seed;
    ASSERT_TRUE(advance(target, estimate, pieces, setting, scratch).ok());
    for (std::size_t j = 0; j < 6; ++j) sum[j] += static_cast<double>(estimate[j]);
  }
  // An element comes in a third of the messages, three times as large: deviation √2 of its size.
  for (std::size_t j = 0; j < 6; ++j)
    EXPECT_NEAR(sum[j] / kDraws / static_cast<double>(target[j]), 1, 0.06);
}

// Seen to fail: gathers, which feed back whatever they leave out, multiplied it by 1 - size / kept.
TEST(Randk, HasAnUnscaledFormForGathers) {
  const CodecPtr scaled = make_codec("randk", {{"scaled", "true"}, {"values", "float16"}});
  EXPECT_FALSE(scaled->traits().contractive);
  const CodecPtr unscaled = scaled->contractive_codec();
  ASSERT_NE(unscaled, nullptr);
  EXPECT_TRUE(unscaled->traits().contractive);
  EXPECT_TRUE(*unscaled == *make_codec("randk", {{"values", "float16"}}));
}

// The largest lie side by side, the others far apart: a guess from the first ones is too high. Seen
// to fail with a message of twice the budget taken, and with the entries of the last attempt kept
// in place of those of the best one.
TEST(CodedIndices, KeepToABudgetWhereLaterOnesCostMore) {
  CompressScratch scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random = stream(seed);
    std::vector<float> target(50000);
    for (float& value : target)
      value = random.below(40) == 0 ? static_cast<float>(random.normal()) : 0.0f;
    for (std::size_t j = 3000; j < 6000; ++j) target[j] = 100 + static_cast<float>(random.normal());
    std::vector<float> near(target.size(), 0.0f), far = near;
    const std::uint32_t budget = seed % 2 == 0 ? 1500 + random.below(1000) : 50 + random.below(100);
    Setting setting =
        setting_of("topk", {{"values", "int4"}, {"indices", "coded"}}, Budget::bytes(budget));
    setting.allocation = Allocation::kGlobal;
    auto made = advance(target, near, std::vector<Piece>{{0, target.size()}}, setting, scratch);
    ASSERT_TRUE(made.ok());
    ASSERT_LE(made->bytes.size(), budget) << "seed " << seed;
    ASSERT_GE(made->bytes.size(), budget * 9 / 10) << "seed " << seed;
    ASSERT_TRUE(apply(made->form, made->bytes, far).ok());
    ASSERT_EQ(far, near) << "seed " << seed;
  }
}

TEST(Counts, TakeSevenBitsAByteAndComeBackInOneWayOnly) {
  for (const std::uint32_t count : {1u, 127u, 128u, 16383u, 16384u, 0xffffffffu}) {
    std::vector<std::byte> bytes;
    put_leb128(count, bytes);
    EXPECT_EQ(bytes.size(), leb128_bytes(count));
    std::span<const std::byte> rest = bytes;
    EXPECT_EQ(read_count(rest, count).value(), count);
    EXPECT_TRUE(rest.empty());
    rest = bytes;
    EXPECT_FALSE(read_count(rest, count - 1).ok());
  }
  const std::vector<std::byte> bad[] = {{},
                                        {std::byte{0}},
                                        {std::byte{0x80}},
                                        {std::byte{0x81}, std::byte{0}},
                                        std::vector<std::byte>(6, std::byte{0xff})};
  for (const auto& bytes : bad) {
    std::span<const std::byte> rest = bytes;
    EXPECT_FALSE(read_count(rest, 0xffffffff).ok());
  }
}

}  // namespace
}  // namespace kimesh::formats_test
