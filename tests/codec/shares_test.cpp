#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kimesh/compress/compressor.h"
#include "tests/compress/vectors.h"

namespace kimesh::shares_test {
namespace {

std::vector<std::uint32_t> shares_of(std::uint32_t keep, std::uint32_t rotation,
                                     const std::vector<Piece>& pieces) {
  std::vector<std::uint32_t> shares(pieces.size(), 77);
  share_out(keep, rotation, pieces, shares);
  return shares;
}

std::vector<Piece> pieces_of(const std::vector<std::size_t>& sizes) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (const std::size_t size : sizes) {
    pieces.push_back({offset, size});
    offset += size;
  }
  return pieces;
}

// Seen to fail with shares rounded down each on its own.
TEST(Shares, SumToWhatIsKeptAndStayWithinTheirPieceForEveryRotation) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random = stream(seed);
    const std::vector<Piece> pieces = random_pieces(random);
    const auto size = static_cast<std::uint32_t>(pieces.back().offset + pieces.back().size);
    const std::uint32_t keep = random.below(size + 1);
    const auto shares = shares_of(keep, random.next_u32(), pieces);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0u), keep) << "seed " << seed;
    for (std::size_t l = 0; l < pieces.size(); ++l)
      EXPECT_LE(shares[l], pieces[l].size) << "seed " << seed << ", piece " << l;
  }
}

// Each share is its exact one, rounded down or up. Seen to fail with first come, first served.
TEST(Shares, DifferFromTheExactOneByLessThanOne) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random = stream(seed);
    const std::vector<Piece> pieces = random_pieces(random);
    const auto size = static_cast<std::uint32_t>(pieces.back().offset + pieces.back().size);
    const std::uint32_t keep = random.below(size + 1);
    const auto shares = shares_of(keep, random.next_u32(), pieces);
    for (std::size_t l = 0; l < pieces.size(); ++l) {
      const double exact = static_cast<double>(keep) * static_cast<double>(pieces[l].size) / size;
      EXPECT_LT(std::abs(shares[l] - exact), 1) << "seed " << seed << ", piece " << l;
    }
  }
}

// Seen to fail with the rotation left out: the small pieces then get nothing for ever.
TEST(Shares, GiveEveryPieceItsTurn) {
  const std::vector<Piece> pieces = pieces_of({10000, 10, 5000, 1, 20, 4969});
  const std::uint32_t keep = 40;  // 0.2 %: 0.002 elements a round for the smallest piece
  constexpr std::uint32_t kRounds = 5000;
  std::vector<std::uint64_t> sums(pieces.size(), 0);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto shares = shares_of(keep, round, pieces);
    for (std::size_t l = 0; l < pieces.size(); ++l) sums[l] += shares[l];
  }
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    const double exact = static_cast<double>(kRounds) * keep * pieces[l].size / 20000;
    EXPECT_NEAR(static_cast<double>(sums[l]), exact, 4) << "piece " << l;
    EXPECT_GT(sums[l], 0u) << "piece " << l;
  }
}

// Seen to fail with products of 32 bits.
TEST(Shares, AreExactAtTheLargestSizes) {
  const std::vector<Piece> pieces = pieces_of({2147483648u, 2147483647u});
  EXPECT_EQ(shares_of(4294967295u, 12345, pieces),
            (std::vector<std::uint32_t>{2147483648u, 2147483647u}));
  EXPECT_EQ(shares_of(0, 5, pieces), (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(shares_of(0, 5, pieces_of({0})), (std::vector<std::uint32_t>{0}));
}

}  // namespace
}  // namespace kimesh::shares_test
