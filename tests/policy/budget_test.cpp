#include <gtest/gtest.h>

#include <vector>

#include "tests/policy/messages.h"

namespace kimesh::budget_test {
namespace {

using std::chrono::milliseconds;

struct Row {
  const char* what;
  double bytes_per_s;
  int fixed_ms, round_ms, compute_ms;
  unsigned slots;
  double share;
  std::size_t expected;
};

// Seen to fail with (t − T_comp − a)/H, with the share left out, and with the floor for rounds that
// are too long whatever is sent.
TEST(Budget, IsRateTimesTheTimeOfAHopLessTheFixedCost) {
  const std::vector<Row> rows{
      {"the whole round, one hop", 1e6, 0, 100, 0, 1, kInfinity, 100'000},
      {"Kimad: B (t - T_comp) / 2", 1e6, 0, 100, 20, 2, kInfinity, 40'000},
      {"each hop pays its fixed cost", 1e6, 10, 100, 20, 2, kInfinity, 30'000},
      {"a ring of four", 250e3, 1, 100, 40, 6, kInfinity, 2'250},
      {"the share caps the rate", 1e6, 10, 100, 20, 2, 0.5e6, 15'000},
      {"no share declared", 1e6, 10, 100, 20, 2, 0, 30'000},
      {"a token bucket gives no credit", 1e6, -10, 100, 20, 2, kInfinity, 40'000},
      {"nothing left after computing: a tenth of it", 1e6, 0, 100, 100, 2, kInfinity, 5'000},
      {"late already: a tenth of what it takes", 1e6, 0, 100, 500, 2, kInfinity, 25'000},
      {"fixed cost over the hop: a tenth of it", 1e6, 60, 100, 0, 2, kInfinity, 6'000},
      {"that is less than the floor", 1e4, 0, 100, 500, 2, kInfinity, 800},
      {"no slots count as one", 1e6, 0, 100, 0, 0, kInfinity, 100'000},
  };
  for (const Row& row : rows) {
    MessageContext message = known_link();
    message.link.bytes_per_s = row.bytes_per_s;
    message.link.fixed_cost = milliseconds(row.fixed_ms);
    message.compute_time = milliseconds(row.compute_ms);
    message.slots = message.hops = row.slots;
    message.share_bytes_per_s = row.share;
    EXPECT_NEAR(static_cast<double>(topk_budget_bytes(milliseconds(row.round_ms), message)),
                static_cast<double>(row.expected), 1)
        << row.what;
  }
}

// Neither time nor anything that takes some. Seen to fail with 0/0.
TEST(Budget, IsANumberWhereNothingTakesTime) {
  MessageContext message = known_link();
  message.link = {1e6, 0.8, Duration{0}, true};
  message.proven_bytes = 10'000;
  EXPECT_EQ(topk_budget_bytes(Duration{0}, message), 800u) << "the floor";
}

// Seen to fail with the round trip left in the fixed cost.
TEST(Budget, DoesNotWaitForTheAck) {
  MessageContext message = known_link();
  message.hops = 2;
  message.link.fixed_cost = milliseconds(25);
  message.link.round_trip = milliseconds(20);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 35'000u) << "2 hops, 15 ms each";
  message.link.round_trip = milliseconds(80);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 50'000u) << "never less than nothing";
}

// Seen to fail with slots in place of hops, without the encoder, and without the encodings that
// a message waits for.
TEST(Budget, LeavesTimeForTheWorkOnTheWay) {
  MessageContext message = known_link();
  message.slots = 4;
  message.hops = 2;
  message.compute_time = milliseconds(20);
  message.work_time = milliseconds(10);
  message.link.fixed_cost = milliseconds(5);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 15'000u)
      << "60 ms for 4 messages; two of them follow one another and wait for the wire's delay";
  message.encode_s_per_byte = 1e-6;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 10'000u)
      << "two of six parts of the time are the encoder's";
  message.encodings_waited_for = 4;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 6'000u)
      << "six of ten parts are the encoder's: three messages are made at once, on two hops";
  message.encode_time = milliseconds(10);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 5'000u) << "50 ms are left";
}

// Seen to fail where dense messages were charged for encoding, and where they ignored the wire.
TEST(Budget, HoldsADenseMessageWhereTheWireIsFasterThanTheEncoder) {
  MessageContext message = known_link();
  message.hops = 2;
  message.link.bytes_per_s = 10e6;  // 80 ms for two messages of 400 kB
  message.encode_s_per_byte = 1e-6;
  EXPECT_EQ(topk_budget_bytes(milliseconds(81), message), 400'000u);
  EXPECT_EQ(topk_budget_bytes(milliseconds(79), message), 35'909u) << "coded ones, 2.2 us a byte";
  message.largest_bytes = 10'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(81), message), 40'000u) << "in steps";
}

TEST(Budget, KnowsTheShortestRound) {
  MessageContext message = known_link();  // the floor: 100 elements of 8 bytes
  message.compute_time = milliseconds(20);
  message.work_time = milliseconds(10);
  message.link.bytes_per_s = 80e3;
  EXPECT_EQ(least_round_time(message, *make_codec("topk")), milliseconds(50));
  message.link.lower_bound = true;
  EXPECT_EQ(least_round_time(message, *make_codec("topk")), std::nullopt);
}

// Seen to fail where messages that wait for one another on a link do not share its bytes.
TEST(Budget, BeginsOnAnUnknownLinkWithWhatItMayCarryDuringAGradient) {
  MessageContext message = known_link();
  message.link = {};
  message.slots = message.hops = 2;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kFirstBytesMin);
  message.own_step_time = milliseconds(2);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 2500u) << "10 Mbit/s for 2 ms";
  message.proven_bytes = 100;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 2500u);
  message.own_step_time = milliseconds(28);
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kFirstBytesMax);
  message.slots = 2 * message.hops;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kFirstBytesMax / 2);
  message.elements = 10'000'000;
  message.overhead_bytes = 50;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 80'050u) << "the floor is larger";
}

// Seen to fail without the larger message, and where slow links are given it as well, or ones on
// which messages wait.
TEST(Budget, ASmallMessageThatDoesNotTellTheRateIsFollowedByALargerOne) {
  MessageContext message = known_link();
  message.elements = 10'000;
  message.link = {1e6, 0.4, Duration{0}, true};  // a little over a millisecond
  message.proven_bytes = message.largest_bytes = 1200;
  message.slots = message.hops = 20;
  const auto budget = [&] { return topk_budget_bytes(milliseconds(20), message); };
  EXPECT_EQ(budget(), kFirstBytesMax);
  const auto expect_small = [&](const char* why) { EXPECT_LE(budget(), 1000u) << why; };
  message.hops = 4;
  expect_small("five messages of 1.2 ms wait for one another at each hop");
  message.hops = 20;
  message.first_rounds_bytes = 1000;
  expect_small("the mesh's rounds are too long");
  message.first_rounds_bytes = 0;
  message.share_bytes_per_s = 1e6;
  expect_small("the link has told");
  message.share_bytes_per_s = 0;
  message.proven_bytes = message.largest_bytes = kFirstBytesMax - 100;
  expect_small("it has carried so much");
  message.proven_bytes = message.largest_bytes = 1200;
  message.link.bytes_per_s = 1e5;
  expect_small("4 KiB would take 41 ms");
  message.link.round_trip = milliseconds(11);
  message.link.bytes_per_s = 1.05e5;
  EXPECT_EQ(budget(), kFirstBytesMax) << "nearly all of which is the way";
  message.elements = 400;
  EXPECT_LE(budget(), 1700u) << "the dense message";
}

// A message of one chunk tells no rate.
TEST(Budget, AFirstMessageHasTwoChunks) {
  EXPECT_GE(chunk_count(kFirstBytesMin - 200), 2u) << "besides its headers";
  EXPECT_EQ(chunk_count(kFirstBytesMax - 200), 7u);
}

// What a bucket passes at line speed says nothing of larger messages. Seen to fail without.
TEST(Budget, IsAtMostFourTimesTheLargestThatWasCarried) {
  MessageContext message = known_link();
  message.largest_bytes = 10'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 40'000u);
}

// Seen to fail without the limit.
TEST(Budget, GrowsByHalfAtMostWhileTheRateIsALowerBound) {
  MessageContext message = known_link();
  message.proven_bytes = 10'000;
  message.link.lower_bound = true;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 15'000u);
  message.proven_bytes = 45'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 50'000u)
      << "no further than the formula";
  message.proven_bytes = 0;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 50'000u)
      << "nothing carried yet, no limit";
}

// What a message waited for, over its bytes, is no rate. Seen to fail where budgets followed it:
// each message was smaller than the one before.
TEST(Budget, GrowsByHalfWhereTheRateIsAGuess) {
  MessageContext message = known_link();
  message.link = {20e3, 1, Duration{0}, true};  // 100 bytes took 5 ms
  message.proven_bytes = 2'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(18), message), 3'000u);
  message.largest_bytes = 600;
  EXPECT_EQ(topk_budget_bytes(milliseconds(18), message), 2'400u) << "four times the largest";
  message.largest_bytes = 0;
  message.share_bytes_per_s = 200e3;
  EXPECT_NEAR(static_cast<double>(topk_budget_bytes(milliseconds(18), message)), 1'800, 1)
      << "what the link sustains";
  message.share_bytes_per_s = kInfinity;
  message.encode_s_per_byte = 1e-5;
  message.hops = 2;
  EXPECT_NEAR(static_cast<double>(topk_budget_bytes(milliseconds(18), message)), 900, 1)
      << "what the encoder can do";
}

// Seen to fail with growth by half alone, and with fast growth beside a known sustained rate.
TEST(Budget, GrowsFourfoldWhileMessagesTakeASmallPartOfTheirSlot) {
  MessageContext message = known_link();  // slots of 50 ms
  message.link = {10e6, 0.1, Duration{0}, true};
  message.proven_bytes = 2'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 8'000u);
  message.proven_bytes = 50'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 125'000u) << "a quarter of a slot";
  message.proven_bytes = 100'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 150'000u) << "a quarter is less";
  message.proven_bytes = 2'000;
  message.share_bytes_per_s = 10e6;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 3'000u) << "the sustained rate is known";
}

TEST(Budget, ProbesWithEveryTenthMessageThatDoesNotFillThePipe) {
  MessageContext message = known_link();
  message.link.lower_bound = true;
  message.proven_bytes = 10'000;
  for (unsigned unfilled = 0; unfilled <= 30; ++unfilled) {
    message.unfilled_messages = unfilled;
    const bool probe = unfilled > 0 && unfilled % kProbeEvery == 0;
    // Four times what was carried; two slots of 50 ms at 1 MB/s would be more.
    EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), probe ? 40'000u : 15'000u) << unfilled;
  }
  message.unfilled_messages = 10;
  message.proven_bytes = 30'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 100'000u)
      << "two slots of 50 ms at 1 MB/s";
  message.proven_bytes = 35'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 50'000u)
      << "the limit leaves the message as it is: nothing to probe for";
  message.proven_bytes = 250'000;
  message.link.bytes_per_s = 100e6;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 400'000u)
      << "dense is the most there is";
  message.elements = 10'000'000;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kProbeBytesMax);
  message.link.lower_bound = false;
  message.proven_bytes = 0;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 5'000'000u)
      << "filled: nothing to probe";
}

TEST(Budget, NeverFallsWhenTheLinkOrTheRoundTimeGrows) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    MessageContext message = random_message(random);
    if (!message.link.known()) message.link.bytes_per_s = 1;
    const Duration round_time(1'000'000 + random.next_u64() % 10'000'000'000);
    const std::size_t budget = topk_budget_bytes(round_time, message);
    MessageContext faster = message;
    faster.link.bytes_per_s *= 1 + random.uniform();
    ASSERT_GE(topk_budget_bytes(round_time, faster), budget);
    ASSERT_GE(topk_budget_bytes(round_time + Duration(random.below(1'000'000'000)), message),
              budget);
    MessageContext later = message;
    later.compute_time += Duration(random.below(1'000'000'000));
    const bool has_time = time_without_bytes(later) * (1 + kShareOfLongRound) < round_time;
    ASSERT_TRUE(!has_time || topk_budget_bytes(round_time, later) <= budget);
  }
}

}  // namespace
}  // namespace kimesh::budget_test
