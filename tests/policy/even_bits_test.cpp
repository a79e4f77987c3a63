// Messages of one size: what a link has room for, and the same setting for the same bits.
#include "kimesh/policy/even_bits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kimesh/policy/policy_options.h"
#include "kimesh/util/random.h"
#include "tests/policy/messages.h"

namespace kimesh::even_bits_test {
namespace {

constexpr double kInt4 = 4.25, kInt8 = 8.0625;

// Seen to fail without the factor of 1.25.
TEST(EvenBits, AreThoseOfTheLargestBlocksWithinTheRoomOrOfTheCoder) {
  EXPECT_EQ(even_bits_of_unlike_data(40), kBitsOfDense);
  EXPECT_EQ(even_bits_of_unlike_data(kInt8), kInt8);
  EXPECT_EQ(even_bits_of_unlike_data(6), kInt4) << "1.25 times the room is too little for int8";
  EXPECT_EQ(even_bits_of_unlike_data(kInt4 / 1.25 + 0.01), kInt4);
  EXPECT_EQ(even_bits_of_unlike_data(kInt4 / 1.25 - 0.01), kEvenBits);
}

// Rounds to a target, 1 + (kHalfBits / b)², times the length of each in gradients, 1 + b / 2 room.
// Seen to fail where all slow links had kEvenBits.
TEST(EvenBits, OfUnlikeDataTakeTheLeastTimeOnSlowLinks) {
  for (const double room : {1e-6, 0.01, 0.025, 0.1}) {
    const auto time = [room](double bits) {
      return (1 + std::pow(kHalfBits / bits, 2)) * (1 + bits / (2 * room));
    };
    const double best = even_bits_of_unlike_data(room);
    EXPECT_LE(time(best), time(0.98 * best)) << room;
    EXPECT_LE(time(best), time(1.02 * best)) << room;
    EXPECT_LT(best, kEvenBits);
  }
  EXPECT_EQ(even_bits_of_unlike_data(1), kEvenBits) << "more would bring nothing";
}

// Seen to fail without the least room.
TEST(EvenBits, AreAsFewAsSlowLinksHaveRoomForWhereDataAreAlike) {
  EXPECT_EQ(even_bits_of_like_data(40), kBitsOfDense);
  EXPECT_EQ(even_bits_of_like_data(20), kEvenBits) << "more would bring nothing";
  EXPECT_EQ(even_bits_of_like_data(0.1), 0.1);
  EXPECT_EQ(even_bits_of_like_data(kLeastEvenBits), kLeastEvenBits);
  EXPECT_EQ(even_bits_of_like_data(kRoomForEvenBits), kLeastEvenBits);
  EXPECT_EQ(even_bits_of_like_data(0.99 * kRoomForEvenBits), 0) << "each link has a budget";
}

// AgreedBits compares what smaller and larger rooms would have.
TEST(EvenBits, GrowWithTheRoom) {
  for (const auto bits_within : {even_bits_of_unlike_data, even_bits_of_like_data}) {
    double before = 0;
    for (double room = 0.01; room < 100; room *= 1.1) {
      const double bits = bits_within(room);
      EXPECT_GE(bits, before) << room;
      before = bits;
    }
    EXPECT_EQ(before, kBitsOfDense);
  }
}

// Gradients of 80 ms: 40 ms for two slots of 100,000 elements. What the link has proven, the time
// of the round and that of coding do not count. Seen to fail with the exchange of the round, with
// one slot, and without the frame.
TEST(EvenBits, HaveRoomForWhatTheLinkCarriesInHalfAGradient) {
  MessageContext message = coded_at(1e6);
  message.compute_time = std::chrono::milliseconds(80);
  EXPECT_NEAR(room_for_even_messages(message), 1.6, 1e-6);
  message.overhead_bytes = 1000;
  EXPECT_NEAR(room_for_even_messages(message), 1.56, 1e-6) << "besides the frame";
  message.overhead_bytes = 0;
  message.link.lower_bound = true;
  message.proven_bytes = 1000;
  message.largest_bytes = 1000;
  message.round_time = std::chrono::milliseconds(500);
  message.encode_s_per_byte = 1;
  EXPECT_NEAR(room_for_even_messages(message), 1.6, 1e-6);
  message.link.bytes_per_s = 1e9;
  EXPECT_EQ(room_for_even_messages(message), kBitsOfDense);
}

// A guessed rate limits the room where nothing else tells the rate. Without a limit, messages would
// become dense on every link whose rate is a guess. Seen to fail without one.
TEST(EvenBits, TakeAGuessedRateForARate) {
  MessageContext message = coded_at(1e6);
  message.compute_time = std::chrono::milliseconds(80);
  message.proven_bytes = 1000;
  message.link.lower_bound = true;
  message.link.relative_error = 0.9;
  EXPECT_NEAR(room_for_even_messages(message), 1.6, 1e-6);
  message.share_bytes_per_s = 0.5e6;
  EXPECT_NEAR(room_for_even_messages(message), 0.8, 1e-6) << "a tail has told";
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
                                    {3.0, "dzq"},
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
    if (bits < 4) {
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
