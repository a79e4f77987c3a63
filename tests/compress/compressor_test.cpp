#include "kimesh/compress/compressor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "kimesh/kernels/vector_math.h"
#include "tests/compress/vectors.h"

namespace kimesh::compressor_test {
namespace {

struct Entry {
  std::uint32_t index;
  float value;
  bool operator==(const Entry&) const = default;
};

std::vector<Entry> entries_of(const std::vector<std::byte>& bytes) {
  std::vector<Entry> entries(bytes.size() / 8);
  for (std::size_t c = 0; c < entries.size(); ++c) {
    std::memcpy(&entries[c].index, bytes.data() + 4 * c, 4);
    std::memcpy(&entries[c].value, bytes.data() + 4 * (entries.size() + c), 4);
  }
  return entries;
}

// What topk is to send, from its definition.
std::vector<Entry> naive_topk(const std::vector<float>& target, const std::vector<float>& estimate,
                              const std::vector<Piece>& pieces, const Setting& setting) {
  std::vector<std::uint32_t> shares(pieces.size());
  share_out(setting.budget.elements(), setting.rotation, pieces, shares);
  std::vector<Entry> result;
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    std::vector<Entry> piece;
    for (std::size_t j = pieces[l].offset; j < pieces[l].offset + pieces[l].size; ++j)
      piece.push_back({static_cast<std::uint32_t>(j), target[j] - estimate[j]});
    std::ranges::stable_sort(piece, std::greater{},
                             [](const Entry& e) { return std::abs(e.value); });
    piece.resize(shares[l]);
    std::erase_if(piece, [](const Entry& e) { return e.value == 0; });
    std::ranges::sort(piece, {}, &Entry::index);
    result.insert(result.end(), piece.begin(), piece.end());
  }
  return result;
}

double energy_between(const std::vector<float>& target, const std::vector<float>& estimate) {
  double sum = 0;
  for (std::size_t j = 0; j < target.size(); ++j) {
    const double missing = static_cast<double>(target[j]) - static_cast<double>(estimate[j]);
    sum += missing * missing;
  }
  return sum;
}

// Seen to fail with pieces' offsets left out, values before indices, and the target sent in place
// of the difference.
TEST(Topk, SendsTheLargestDifferencesOfEachPieceAndNothingElse) {
  CompressScratch scratch;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random = stream(seed);
    const std::vector<Piece> pieces = random_pieces(random);
    const std::size_t size = pieces.back().offset + pieces.back().size;
    const std::vector<float> target = random_vector(random, size);
    std::vector<float> estimate = random_vector(random, size);
    const Setting setting = random_topk(random, size);
    const std::vector<Entry> expected = naive_topk(target, estimate, pieces, setting);
    auto made = advance(target, estimate, pieces, setting, scratch);
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(entries_of(made->bytes), expected) << "seed " << seed;
    ASSERT_LE(made->bytes.size(), bytes_of(setting, size));
  }
}

// Seen to fail with `removed` not taken.
TEST(Topk, ReportsTheEnergiesThatAreThereAfterwards) {
  CompressScratch scratch;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random = stream(seed);
    const std::vector<Piece> pieces = random_pieces(random);
    const std::size_t size = pieces.back().offset + pieces.back().size;
    const std::vector<float> target = random_vector(random, size);
    std::vector<float> estimate = random_vector(random, size);
    const double before = energy_between(target, estimate);
    auto made = advance(target, estimate, pieces, random_topk(random, size), scratch);
    ASSERT_TRUE(made.ok());
    const double after = energy_between(target, estimate);
    const double wanted = kernels::energy(target);  // in one sum; the pieces' sums are added
    EXPECT_NEAR(made->wanted_energy, wanted, 1e-14 * wanted) << "seed " << seed;
    // Float32 differences are rounded once, hence the relative part.
    EXPECT_NEAR(made->missing_energy, after, 1e-12 * before + 1e-6 * after) << "seed " << seed;
  }
}

// The contraction that the convergence proof of EF21 rests on: ‖v − C(v)‖² <= (1 − k/n)‖v‖².
// Seen to fail with the smallest elements selected.
TEST(Topk, LeavesAtMostItsShareOfTheEnergy) {
  CompressScratch scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random = stream(seed);
    const std::size_t size = 1 + random.below(20000);
    const std::vector<float> target = random_vector(random, size);
    std::vector<float> estimate(size, 0.0f);
    const Setting setting = random_topk(random, size);
    auto made = advance(target, estimate, std::vector<Piece>{{0, size}}, setting, scratch);
    const double share = static_cast<double>(setting.budget.elements()) / static_cast<double>(size);
    EXPECT_LE(made->missing_energy, (1 - share + 1e-12) * made->wanted_energy) << "seed " << seed;
  }
}

// |C(v)_j| + |v_j − C(v)_j| = |v_j| for every j: what a chain needs (docs/architecture.md,
// invariant 3).
TEST(Topk, IsConservative) {
  CompressScratch scratch;
  Random random = stream(3);
  const std::vector<float> target = random_vector(random, 5000);
  std::vector<float> estimate(target.size(), 0.0f);
  const std::vector<Piece> pieces{{0, 5000}};
  ASSERT_TRUE(advance(target, estimate, pieces, topk_setting(700), scratch).ok());
  for (std::size_t j = 0; j < target.size(); ++j)
    ASSERT_EQ(std::abs(estimate[j]) + std::abs(target[j] - estimate[j]), std::abs(target[j]));
}

// Seen to fail with budget_within rounding up.
TEST(Budget, IsNeverPassedAndNotWastedEither) {
  const CodecPtr topk = make_codec("topk");
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random = stream(seed);
    const std::size_t size = 1 + random.below(100000);
    const std::size_t budget = random.below(400000);
    const Setting setting{topk, topk->budget_within(budget, size)};
    const std::size_t keep = setting.budget.elements(), bytes = bytes_of(setting, size);
    EXPECT_LE(bytes, budget);
    EXPECT_TRUE(bytes + 8 > budget || keep == size) << "size " << size << ", budget " << budget;
  }
  EXPECT_EQ(topk->budget_within(7, 100), Budget::keep(0));
  EXPECT_EQ(bytes_of(Setting{}, 100), 400u);
}

TEST(Topk, SendsNothingWhereNothingDiffers) {
  CompressScratch scratch;
  const std::vector<float> target{1, -0.0f, 3};
  std::vector<float> estimate{1, 0.0f, 2};
  const std::vector<Piece> pieces{{0, 3}};
  EXPECT_EQ(advance(target, estimate, pieces, topk_setting(3), scratch)->bytes.size(), 8u);
  auto made = advance(target, estimate, pieces, topk_setting(3), scratch);
  EXPECT_TRUE(made->bytes.empty());
  EXPECT_EQ(made->missing_energy, 0);
  EXPECT_TRUE(apply(Form::kSparse, made->bytes, estimate).ok());
}

// Seen to fail with the finite check taken out of either form.
TEST(Advance, RefusesNotFiniteTargetsAndLeavesTheEstimateAlone) {
  CompressScratch scratch;
  const std::vector<Piece> pieces{{0, 9}};
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()})
    for (const Setting& setting : {Setting{}, topk_setting(3)}) {
      std::vector<float> target(9, 2.0f), estimate(9, 1.0f);
      target[5] = bad;
      auto made = advance(target, estimate, pieces, setting, scratch);
      ASSERT_FALSE(made.ok());
      EXPECT_EQ(made.error().code, ErrorCode::kNotFinite);
      EXPECT_EQ(made.error().message, "element 5 is NaN or infinite");
      EXPECT_EQ(estimate, std::vector<float>(9, 1.0f));
    }
}

// Seen to fail with the estimate not assigned.
TEST(Dense, AssignsAtBothEndsAndKeepsNoEstimateWhereThereIsNone) {
  CompressScratch scratch;
  const std::vector<float> target{1.5f, -0.0f, 1e-42f, 3e38f};
  std::vector<float> near(4, 7.0f), far(4, 9.0f);
  auto made = advance(target, near, {}, Setting{}, scratch);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(apply(Form::kDense, made->bytes, far).ok());
  EXPECT_EQ(std::memcmp(target.data(), near.data(), 16), 0);
  EXPECT_EQ(std::memcmp(target.data(), far.data(), 16), 0);
  EXPECT_EQ(made->missing_energy, 0);
  EXPECT_EQ(advance(target, {}, {}, Setting{}, scratch)->bytes, made->bytes);
}

// The bytes are the wire format: u32 indices, then float32 values, little-endian.
TEST(Topk, WritesTheBytesThatTheGrammarSays) {
  CompressScratch scratch;
  std::vector<float> estimate(300, 0.0f), target(300, 0.0f);
  target[2] = 1;
  target[258] = -2;
  auto made = advance(target, estimate, std::vector<Piece>{{0, 300}}, topk_setting(2), scratch);
  const unsigned char expected[] = {2, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
  ASSERT_EQ(made->bytes.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(made->bytes.data(), expected, sizeof(expected)), 0);
}

}  // namespace
}  // namespace kimesh::compressor_test
