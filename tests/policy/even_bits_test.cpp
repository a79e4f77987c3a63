// Messages of one size: what a link has room for, and the same setting for the same bits.
#include "kimesh/policy/even_bits.h"

#include <gtest/gtest.h>

#include "kimesh/policy/policy_options.h"
#include "kimesh/util/random.h"
#include "tests/policy/messages.h"

namespace kimesh::even_bits_test {
namespace {

constexpr double kSign2 = 2.125, kInt4 = 4.25, kInt8 = 8.0625;

// Seen to fail without sign2's allowance, and with sign among the block codecs.
TEST(EvenBits, AreThoseOfTheLargestBlocksWithinTheRoomOrWhatTheCoderTakes) {
  EXPECT_EQ(even_bits_within({5, 40}), kBitsOfDense);
  EXPECT_EQ(even_bits_within({5, kInt8}), kInt8);
  EXPECT_EQ(even_bits_within({5, 6}), kInt4) << "1.25 times the room is too little for int8";
  EXPECT_EQ(even_bits_within({1, 3}), kSign2);
  EXPECT_EQ(even_bits_within({0.3, kSign2 / 3 + 0.01}), kSign2);
  EXPECT_EQ(even_bits_within({0.3, kSign2 / 3 - 0.01}), 0.3);
}

// AgreedBits compares what smaller and larger rooms would have.
TEST(EvenBits, GrowWithTheRoom) {
  double before = 0;
  for (double plain = 0.01; plain < 100; plain *= 1.1) {
    const double bits = even_bits_within({plain / 2, plain});
    EXPECT_GE(bits, before) << plain;
    before = bits;
  }
  EXPECT_EQ(before, kBitsOfDense);
}

// Seen to fail where growth limits held the plain room as well: from dzq to sign2 is a step that
// they never let a link take.
TEST(EvenBits, OfALinkAreWhatItCarriesWhateverItHasProven) {
  MessageContext message = coded_at(1e6);
  message.link.lower_bound = true;
  message.proven_bytes = 1000;
  const BitsRoom room = bits_room(message, make_codec("dzq"));
  const double elements = static_cast<double>(message.elements);
  EXPECT_LE(room.coded, 8 * 4000 / elements) << "growth limits hold what is coded";
  EXPECT_NEAR(room.plain, 8 * 50'000 / elements, 0.1) << "100 ms for two messages";
  message.link.relative_error = 0.9;
  EXPECT_NEAR(bits_room(message, make_codec("dzq")).plain, room.coded, 0.1) << "a guess";
  message.share_bytes_per_s = 1e6;
  EXPECT_NEAR(bits_room(message, make_codec("dzq")).plain, room.plain, 0.1) << "a tail has told";
}

Choice chosen(const MessageContext& message) {
  return make_policy({policy_options("auto"), make_codec("dzq"), {}})->choose(message);
}

std::string name_of(const Setting& setting) {
  return setting.codec ? std::string(setting.codec->kind_name()) : "dense";
}

// Seen to fail where budgets of links counted.
TEST(EvenBits, GiveEveryLinkTheSameMessage) {
  for (const auto& [bits, codec] : {std::pair(0.2, "dzq"),
                                    {1.5, "dzq"},
                                    {2.125, "sign2"},
                                    {3.0, "sign2"},
                                    {4.25, "int4"},
                                    {8.0625, "int8"},
                                    {32.0, "dense"}}) {
    MessageContext message = coded_at(1e3);
    message.even_bits = bits;
    const Choice slow = chosen(message);
    EXPECT_EQ(name_of(slow.setting), codec) << bits;
    message.link.bytes_per_s = 1e9;
    message.limit_bytes = 500;
    message.encode_s_per_byte = 0;
    const Choice fast = chosen(message);
    EXPECT_EQ(name_of(fast.setting), codec) << bits;
    EXPECT_EQ(fast.budget_bytes, slow.budget_bytes) << bits;
    const double bytes = bits / 8 * static_cast<double>(message.elements);
    if (bits < 2) {
      EXPECT_NEAR(static_cast<double>(slow.budget_bytes), bytes, 300) << bits;
    }
  }
}

// Seen to fail where agreed bits alone counted: a dense message.
TEST(EvenBits, OfALinkOfWhichNothingIsKnownWait) {
  MessageContext message = coded_at(0);
  message.even_bits = 32;
  EXPECT_LT(chosen(message).budget_bytes, 10'000u);
}

}  // namespace
}  // namespace kimesh::even_bits_test
