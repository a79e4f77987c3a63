// What the mesh agrees on where data are unlike: one size for all messages, which seldom changes.
#include "src/round/agreed_bits.h"

#include <gtest/gtest.h>

#include "kimesh/util/random.h"

namespace kimesh::agreed_bits_test {
namespace {

constexpr BitsRoom kOfCoder{0.2, 0.4};  // too little for any block codec

void add(AgreedBits& bits, const BitsRoom& room, int rounds) {
  for (int i = 0; i < rounds; ++i) bits.add(room);
}

TEST(AgreedBits, AreNoneBeforeARoomIsTold) {
  EXPECT_EQ(AgreedBits().value(), 0);
}

// Seen to fail without the band.
TEST(AgreedBits, StayWhereRatesAreNoise) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 0, 0, Purpose::kTest);
    AgreedBits bits;
    bits.add(kOfCoder);
    for (int i = 0; i < 200; ++i) {
      const double factor = 0.75 + 0.5 * random.uniform();
      bits.add({factor * kOfCoder.coded, factor * kOfCoder.plain});
      ASSERT_EQ(bits.value(), kOfCoder.coded) << "seed " << seed << ", round " << i;
    }
  }
}

// Seen to fail where the last room counted.
TEST(AgreedBits, LeaveOneOddRoundOut) {
  AgreedBits bits;
  add(bits, kOfCoder, 5);
  bits.add({0.01, 0.02});
  EXPECT_EQ(bits.value(), kOfCoder.coded);
}

// Seen to fail where they shrank as slowly as they grow.
TEST(AgreedBits, ShrinkAtOnceWhereALinkIsSlower) {
  AgreedBits bits;
  add(bits, {2, 8}, 5);
  add(bits, kOfCoder, 3);
  EXPECT_EQ(bits.value(), kOfCoder.coded);
}

// The residual of many rounds comes with a message that is much larger. Seen to fail where they
// grew at once.
TEST(AgreedBits, GrowByAQuarterARound) {
  AgreedBits bits;
  add(bits, kOfCoder, 5);
  add(bits, {1, 1.2}, 2);
  double before = bits.value();
  EXPECT_EQ(before, kOfCoder.coded) << "the median of the last rounds";
  for (int i = 0; i < 12; ++i) {
    bits.add({1, 1.2});
    EXPECT_LE(bits.value(), 1.25 * before + 1e-9);
    before = bits.value();
  }
  EXPECT_EQ(before, even_bits_within({1, 1.2})) << "sign2, which 1.2 bits are nearly room for";
}

// A room that shrinks while messages grow. Seen to fail where the band was around what they had
// come to.
TEST(AgreedBits, DoNotStayBetweenTheSizesThatARoomHas) {
  AgreedBits bits;
  add(bits, {0.3, 0.45}, 5);
  add(bits, {0.3, 1.2}, 6);
  EXPECT_GT(bits.value(), 0.3);
  EXPECT_LT(bits.value(), 2.125);
  add(bits, {0.24, 0.6}, 20);
  EXPECT_TRUE(bits.value() == 0.24 || bits.value() == 2.125) << bits.value();
}

// No room is told that is larger than that of dense messages. Seen to fail with the band alone.
TEST(AgreedBits, BecomeDenseAgain) {
  AgreedBits bits;
  add(bits, {5, kBitsOfDense}, 5);
  EXPECT_EQ(bits.value(), kBitsOfDense);
  add(bits, {2, 9}, 5);
  EXPECT_EQ(bits.value(), 8.0625);
  add(bits, {5, kBitsOfDense}, 12);
  EXPECT_EQ(bits.value(), kBitsOfDense);
}

}  // namespace
}  // namespace kimesh::agreed_bits_test
