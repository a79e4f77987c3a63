#include "kimesh/util/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "kimesh/util/digest_chunk.h"

namespace kimesh::digest_test {
namespace {

// The first two are XXH3's own for nothing and for one zero byte: another hash would break old
// runs.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(digest_text(""), 0x2d06800538d394c2u);
  const std::array<std::byte, 1> zero{};
  EXPECT_EQ(digest_bytes(zero), 0xc44bdff4074eecdbu);
  EXPECT_EQ(digest_name(0x2d06800538d394c2u), "2d06800538d394c2");
  EXPECT_EQ(digest_name(1), "0000000000000001");
}

TEST(Digest, SeesTheBitsOfFloatsAndNotTheirValues) {
  const std::array<float, 2> plus{0.0f, 1.0f}, minus{-0.0f, 1.0f};
  EXPECT_EQ(digest_floats(plus), digest_floats(plus));
  EXPECT_NE(digest_floats(plus), digest_floats(minus));
}

std::vector<float> random_floats(std::size_t size, std::uint64_t seed) {
  std::vector<float> x(size);
  for (std::size_t j = 0; j < size; ++j)
    x[j] = std::bit_cast<float>(static_cast<std::uint32_t>(digest_mix(seed + j)));
  return x;
}

std::uint64_t word(std::span<const float> x, std::size_t i) {
  const auto half = [&](std::size_t j) {
    return j < x.size() ? std::uint64_t{std::bit_cast<std::uint32_t>(x[j])} : 0;
  };
  return half(2 * i) | half(2 * i + 1) << 32;
}

// As a GPU does it: lane by lane, chunks in any order.
std::uint64_t digest_by_lanes(std::span<const float> x) {
  const std::size_t chunks = (x.size() + kDigestChunkFloats - 1) / kDigestChunkFloats;
  std::uint64_t sum = 0;
  for (std::size_t c = chunks; c-- > 0;) {
    std::array<std::uint64_t, kDigestLanes> lanes{};
    for (std::size_t i = 0; i < kDigestLanes; ++i) {
      lanes[i] = digest_lane_start(i);
      for (std::size_t s = 0; s < kDigestStripes; ++s) {
        const std::size_t first = c * kDigestChunkFloats / 2 + s * kDigestLanes;
        lanes[i] = digest_lane(lanes[i], i, s, word(x, first + i), word(x, first + (i ^ 1)),
                               kDigestSecret);
      }
    }
    std::uint64_t pairs = 0;
    for (std::size_t p = 0; p < kDigestLanes / 2; ++p)
      pairs += digest_lane_pair(lanes[2 * p], lanes[2 * p + 1], p, kDigestSecret);
    sum += digest_place(digest_chunk(pairs), c);
  }
  return digest_finish(sum, x.size());
}

// The library's XXH3 and the header's must be one function. Seen to fail with the last stripe's key
// taken like the others'.
TEST(Digest, OfFloatsIsTheSameLaneByLane) {
  for (const std::size_t size : {0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 2048, 3000, 10000}) {
    const std::vector<float> x = random_floats(size, 7 * size);
    EXPECT_EQ(digest_floats(x), digest_by_lanes(x)) << size << " floats";
  }
}

// A changed definition makes recorded runs unrepeatable, and meshes of two versions disagree.
TEST(Digest, OfFloatsIsTheGoldenOne) {
  EXPECT_EQ(digest_name(digest_floats({})), "ad53d5472392edec");
  EXPECT_EQ(digest_name(digest_floats(random_floats(1, 1))), "3eb4981d332f67c3");
  EXPECT_EQ(digest_name(digest_floats(random_floats(2500, 2))), "5c7b0b21562765bf");
}

// Seen to fail without the chunk's number in digest_place, and without the size in digest_finish.
TEST(Digest, OfFloatsSeesEveryBitEveryPlaceAndTheSize) {
  const std::vector<float> x = random_floats(2500, 3);
  const std::uint64_t digest = digest_floats(x);
  for (const std::size_t j : {0, 1, 15, 16, 1007, 1008, 1023, 1024, 2047, 2048, 2499}) {
    for (const std::uint32_t bit : {0, 15, 31}) {
      std::vector<float> other = x;
      other[j] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x[j]) ^ 1u << bit);
      EXPECT_NE(digest_floats(other), digest) << "element " << j << ", bit " << bit;
    }
  }
  std::vector<float> swapped = x;
  std::swap_ranges(swapped.begin(), swapped.begin() + 1024, swapped.begin() + 1024);
  EXPECT_NE(digest_floats(swapped), digest);
  EXPECT_NE(digest_floats(std::vector<float>(5)), digest_floats(std::vector<float>(6)));
}

}  // namespace
}  // namespace kimesh::digest_test
