// What the mesh agrees on: one size for all messages, which seldom changes.
#include "src/round/agreed_bits.h"

#include <gtest/gtest.h>

#include "kimesh/util/random.h"

namespace kimesh::agreed_bits_test {
namespace {

constexpr double kRoomForInt4 = 5.5, kInt4 = 4.25;

void add(AgreedBits& bits, double room, int rounds) {
  for (int i = 0; i < rounds; ++i) bits.add_of_unlike_data(room);
}

TEST(AgreedBits, AreNoneBeforeARoomIsTold) {
  EXPECT_EQ(AgreedBits().value(), 0);
}

// Seen to fail without the band.
TEST(AgreedBits, StayWhereRatesAreNoise) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 0, 0, Purpose::kTest);
    AgreedBits bits;
    bits.add_of_unlike_data(kRoomForInt4);
    for (int i = 0; i < 200; ++i) {
      bits.add_of_unlike_data((0.6 + 0.8 * random.uniform()) * kRoomForInt4);
      ASSERT_EQ(bits.value(), kInt4) << "seed " << seed << ", round " << i;
    }
  }
}

// Seen to fail where the last room counted.
TEST(AgreedBits, LeaveOneOddRoundOut) {
  AgreedBits bits;
  add(bits, kRoomForInt4, 5);
  bits.add_of_unlike_data(0.01);
  EXPECT_EQ(bits.value(), kInt4);
}

// Seen to fail where they shrank as slowly as they grow.
TEST(AgreedBits, ShrinkAtOnceWhereALinkIsSlower) {
  AgreedBits bits;
  add(bits, kRoomForInt4, 5);
  add(bits, 0.4, 3);
  EXPECT_EQ(bits.value(), kEvenBits);
}

// The residual of many rounds comes with a message that is much larger. Seen to fail where they
// grew at once.
TEST(AgreedBits, GrowByAQuarterARound) {
  AgreedBits bits;
  add(bits, 0.4, 5);
  add(bits, kRoomForInt4, 2);
  double before = bits.value();
  EXPECT_EQ(before, kEvenBits) << "the median of the last rounds";
  for (int i = 0; i < 16; ++i) {
    bits.add_of_unlike_data(kRoomForInt4);
    EXPECT_LE(bits.value(), 1.25 * before + 1e-9);
    before = bits.value();
  }
  EXPECT_EQ(before, kInt4);
}

// A room that shrinks while messages grow. Seen to fail where they grew at once.
TEST(AgreedBits, DoNotStayBetweenTheSizesThatARoomHas) {
  AgreedBits bits;
  add(bits, 0.4, 5);
  add(bits, kRoomForInt4, 6);
  EXPECT_GT(bits.value(), kEvenBits);
  EXPECT_LT(bits.value(), kInt4);
  add(bits, 3, 20);
  EXPECT_TRUE(bits.value() == kEvenBits || bits.value() == kInt4) << bits.value();
}

// No room is told that is larger than that of dense messages. Seen to fail with the band alone.
TEST(AgreedBits, BecomeDenseAgain) {
  AgreedBits bits;
  add(bits, kBitsOfDense, 5);
  EXPECT_EQ(bits.value(), kBitsOfDense);
  add(bits, 9, 5);
  EXPECT_EQ(bits.value(), 8.0625);
  add(bits, kBitsOfDense, 12);
  EXPECT_EQ(bits.value(), kBitsOfDense);
}

// Of like data small messages leave little out. Seen to fail where bits of before were kept.
TEST(AgreedBits, BeginAgainWhereDataTurnOutToBeAlike) {
  AgreedBits bits;
  add(bits, kRoomForInt4, 5);
  bits.add_of_like_data(0.05, std::nullopt);
  EXPECT_EQ(bits.value(), 0.05);
}

}  // namespace
}  // namespace kimesh::agreed_bits_test
