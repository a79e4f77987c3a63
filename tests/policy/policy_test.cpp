#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kimesh/policy/policy_options.h"
#include "kimesh/util/random.h"
#include "tests/settings.h"

namespace kimesh {
namespace {

using std::chrono::milliseconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 MB/s, no fixed cost, surely known; 100,000 elements; 2 slots.
MessageContext known_link() {
  MessageContext message;
  message.elements = 100'000;
  message.round = 7;
  message.link = {1e6, 0.01, Duration{0}, false};
  message.share_bytes_per_s = kInfinity;
  return message;
}

PolicySetup kimad(Duration round_time, CodecPtr codec = make_codec("topk")) {
  return {policy_options("kimad"), std::move(codec), round_time};
}

PolicySetup fixed(const KeyTexts& keys, CodecPtr codec = make_codec("topk")) {
  return {policy_options("fixed", keys), std::move(codec)};
}

Choice choose(const PolicySetup& setup, const MessageContext& message) {
  MessageContext timed = message;
  timed.round_time = setup.round_time.value_or(Duration{0});
  return make_policy(setup)->choose(timed);
}

std::size_t topk_budget_bytes(Duration round_time, const MessageContext& message) {
  return budget_bytes(round_time, message, *make_codec("topk"));
}

struct Row {
  const char* what;
  double bytes_per_s;
  int fixed_ms, round_ms, compute_ms;
  unsigned slots;
  double share;
  std::size_t expected;
};

// Seen to fail with (t − T_comp − a)/H, and with the share left out.
TEST(Budget, IsRateTimesTheTimeOfAHopLessTheFixedCost) {
  const std::vector<Row> rows{
      {"the whole round, one hop", 1e6, 0, 100, 0, 1, kInfinity, 100'000},
      {"Kimad: B (t - T_comp) / 2", 1e6, 0, 100, 20, 2, kInfinity, 40'000},
      {"each hop pays its fixed cost", 1e6, 10, 100, 20, 2, kInfinity, 30'000},
      {"a ring of four", 250e3, 1, 100, 40, 6, kInfinity, 2'250},
      {"the share caps the rate", 1e6, 10, 100, 20, 2, 0.5e6, 15'000},
      {"no share declared", 1e6, 10, 100, 20, 2, 0, 30'000},
      {"a token bucket gives no credit", 1e6, -10, 100, 20, 2, kInfinity, 40'000},
      {"nothing left after computing: the floor", 1e6, 0, 100, 100, 2, kInfinity, 800},
      {"late already: the floor", 1e6, 0, 100, 500, 2, kInfinity, 800},
      {"fixed cost over the hop: the floor", 1e6, 60, 100, 0, 2, kInfinity, 800},
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

// Seen to fail with slots in place of hops, and without the encoder.
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

TEST(Budget, BeginsSmallOnALinkOfWhichNothingIsKnown) {
  MessageContext message = known_link();
  message.link = {};
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kFirstBudgetBytes);
  message.proven_bytes = 100;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), kFirstBudgetBytes);
  message.elements = 10'000'000;
  message.overhead_bytes = 50;
  EXPECT_EQ(topk_budget_bytes(milliseconds(100), message), 80'050u) << "the floor is larger";
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

TEST(Kimad, SpendsTheBudgetAfterTheOverhead) {
  MessageContext message = known_link();
  message.overhead_bytes = 103;
  const Choice choice = choose(kimad(milliseconds(20)), message);
  EXPECT_EQ(choice.budget_bytes, 10'000u);
  EXPECT_EQ(choice.setting, topk_setting((10'000 - 103) / 8, 7));
}

// Seen to fail when chunks were free.
TEST(Kimad, CountsWhatEveryChunkAdds) {
  MessageContext message = known_link();
  message.overhead_bytes = 103;
  message.chunk_overhead_bytes = 50;
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting,
            topk_setting((10'000 - 103 - 8 * 50) / 8, 7));
  message.elements = 2'375;  // 9,500 bytes, 103 and 400 are 10,003
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting.budget.is_dense(), false);
  message.elements = 2'374;
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting.budget.is_dense(), true);
  message.compute_time = milliseconds(500);  // the floor: 3 elements, one chunk
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).budget_bytes, 24u + 103 + 50);
}

// Seen to fail when dense was chosen as soon as the budget held it without its overhead.
TEST(Kimad, SendsDenseFromFourBytesPerElementOn) {
  MessageContext message = known_link();
  message.elements = 2'500;
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting.budget.is_dense(), true);
  message.overhead_bytes = 1;
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting, topk_setting(1'249, 7));
  message.elements = 0;
  EXPECT_EQ(choose(kimad(milliseconds(20)), message).setting.budget.is_dense(), true);
}

TEST(Kimad, SendsTheFloorWhenNothingFits) {
  MessageContext message = known_link();
  message.compute_time = milliseconds(500);
  message.overhead_bytes = 100;
  const Choice choice = choose(kimad(milliseconds(100)), message);
  EXPECT_EQ(choice.setting, topk_setting(100, 7));
  EXPECT_EQ(choice.budget_bytes, 900u);
  message.elements = 1;
  EXPECT_EQ(choose(kimad(milliseconds(100)), message).setting.budget.is_dense(), true)
      << "4 bytes are less than 8";
}

TEST(Fixed, KeepsItsShareOfTheElements) {
  MessageContext message = known_link();
  message.overhead_bytes = 1'000'000;
  const PolicySetup some = fixed({{"ratio", "0.05"}});
  EXPECT_EQ(choose(some, message).setting, topk_setting(5'000, 7));
  EXPECT_EQ(choose(some, message).budget_bytes, 0u);
  message.elements = 30;  // 1.5
  EXPECT_EQ(choose(some, message).setting.budget.elements(), 2u);
  message.elements = 5;
  EXPECT_EQ(choose(some, message).setting.budget.elements(), 1u);
  message.elements = 1'000;
  EXPECT_TRUE(choose(fixed({{"ratio", "0.5"}}), message).setting.budget.is_dense())
      << "as short, and exact";
  EXPECT_EQ(choose(fixed({{"ratio", "0.499"}}), message).setting, topk_setting(499, 7));
}

TEST(Dense, IsAllThatNoneKnows) {
  const MessageContext message = known_link();
  EXPECT_EQ(choose({}, message).setting, Setting{});
  EXPECT_EQ(choose({}, message).budget_bytes, 0u);
}

TEST(Fixed, SendsSoManyBitsPerElement) {
  const MessageContext message = known_link();  // 100,000 elements
  const CodecPtr dzq = make_codec("dzq");
  const Setting half = choose(fixed({{"bits", "0.5"}}, dzq), message).setting;
  EXPECT_EQ(half.budget, Budget::bytes(6'250));
  EXPECT_EQ(half.codec, dzq);
  EXPECT_EQ(choose(fixed({{"bits", "32"}}, dzq), message).setting, Setting{})
      << "dense is as short, and exact";
  EXPECT_GE(choose(fixed({{"bits", "1e-6"}}, dzq), message).setting.budget.amount, 100u)
      << "a thousandth is the floor";
}

TEST(Fixed, SendsWhatItsCompressorSaysItself) {
  const MessageContext message = known_link();
  for (const CodecPtr& codec : {make_codec("int8"), make_codec("dzq", {{"step", "0.25"}})}) {
    const Setting setting = choose(fixed({}, codec), message).setting;
    EXPECT_EQ(setting.codec, codec);
    EXPECT_EQ(setting.budget, Budget::own());
  }
}

// Seen to fail with nearest on every route.
// Seen to fail with a limit that counts only where the link is known.
TEST(Kimad, SpendsNoMoreThanEveryLinkOfASharedGatherCarries) {
  const PolicySetup setup = kimad(milliseconds(20), make_codec("dzq"));
  for (MessageContext message : {known_link(), MessageContext{}}) {
    message.elements = 100'000;
    message.round_time = *setup.round_time;
    const std::size_t free = choose(setup, message).budget_bytes;
    message.limit_bytes = free / 2;
    EXPECT_EQ(choose(setup, message).budget_bytes, free / 2);
    message.limit_bytes = 2 * free;
    EXPECT_EQ(choose(setup, message).budget_bytes, free);
    EXPECT_EQ(make_policy(setup)->budget(message), free);
  }
}

TEST(Kimad, RoundsToNearestOnlyWhereAMessageGoesNoFurther) {
  MessageContext message = known_link();
  const PolicySetup setup = kimad(milliseconds(20), make_codec("dzq"));
  EXPECT_EQ(choose(setup, message).setting.rounding, Rounding::kNearest);
  EXPECT_FALSE(is_conservative(choose(setup, message).setting));
  message.is_compressed_again = true;
  EXPECT_EQ(choose(setup, message).setting.rounding, Rounding::kTowardsZero);
  EXPECT_TRUE(is_conservative(choose(setup, message).setting));
}

TEST(Kimad, FillsTheBudgetWithBytesWhereElementsDoNotCount) {
  MessageContext message = known_link();
  message.overhead_bytes = 103;
  for (const CodecPtr& codec :
       {make_codec("dzq"), make_codec("randk"), make_codec("topk", {{"indices", "coded"}})}) {
    const Choice choice = choose(kimad(milliseconds(20), codec), message);  // 10 kB
    EXPECT_EQ(choice.setting.codec, codec);
    EXPECT_EQ(choice.setting.budget, Budget::bytes(10'000u - 103));
  }
}

TEST(Kimad, SaysWhereTheLinkIsFasterThanAnEntropyCoder) {
  MessageContext message = known_link();
  const PolicySetup setup = kimad(milliseconds(20), make_codec("dzq"));
  EXPECT_FALSE(choose(setup, message).setting.fast_link);
  message.link.bytes_per_s = 2 * kCoderBytesPerS;
  message.elements = 100'000'000;
  EXPECT_TRUE(choose(setup, message).setting.fast_link);
}

MessageContext random_message(Random& random) {
  const auto draw = [&](double least, double most) {
    return least * std::pow(most / least, random.uniform());
  };
  MessageContext message;
  message.elements = static_cast<std::size_t>(draw(1, 1e8));
  message.overhead_bytes = random.below(500);
  message.chunk_overhead_bytes = random.below(64);
  message.round = random.next_u32();
  message.link.bytes_per_s = random.below(10) == 0 ? 0 : draw(10, 1e11);
  message.link.relative_error = random.uniform();
  message.link.fixed_cost = Duration(static_cast<std::int64_t>(draw(1, 1e10)) - 1'000'000);
  message.link.lower_bound = random.below(2) == 0;
  message.share_bytes_per_s = random.below(2) == 0 ? kInfinity : draw(10, 1e10);
  message.slots = 1 + random.below(2'000);
  message.hops = 1 + random.below(message.slots);
  message.compute_time = Duration(static_cast<std::int64_t>(draw(1, 1e10)));
  message.work_time = Duration(static_cast<std::int64_t>(draw(1, 1e8)));
  message.encode_s_per_byte = random.below(2) == 0 ? 0 : draw(1e-9, 1e-6);
  message.link.round_trip = Duration(static_cast<std::int64_t>(draw(1, 1e9)));
  message.proven_bytes = random.below(3) == 0 ? 0 : static_cast<std::size_t>(draw(1, 1e10));
  message.unfilled_messages = random.below(40);
  return message;
}

// Seen to fail when the overhead was not taken off, and when the floor came before the growth
// limit.
TEST(Kimad, NeverPassesItsBudgetAndNeverStarvesAChannel) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 0, 0, Purpose::kTest);
    const MessageContext message = random_message(random);
    const Duration round_time(1'000'000 + random.next_u64() % 10'000'000'000);
    const Choice choice = choose(kimad(round_time), message);
    const auto whole = [&](const Setting& setting) {
      const std::size_t bytes = bytes_of(setting, message.elements) + message.overhead_bytes;
      return std::pair(bytes + message.chunk_overhead_bytes * chunk_count(bytes),
                       chunk_count(bytes));
    };
    const auto [bytes, chunks] = whole(choice.setting);
    ASSERT_LE(bytes, choice.budget_bytes);
    ASSERT_EQ(choice.budget_bytes, topk_budget_bytes(round_time, message));
    if (choice.setting.budget.is_dense()) continue;
    ASSERT_TRUE(is_of(choice.setting, "topk"));
    const std::uint32_t keep = choice.setting.budget.elements();
    ASSERT_GE(keep, kFloorRatio * static_cast<double>(message.elements));
    ASSERT_GE(keep, 1u);
    ASSERT_LT(8 * std::size_t{keep}, 4 * message.elements);
    // One element more would not fit, or it would begin one of the next chunks.
    const std::size_t next_chunk = std::min<std::size_t>(choice.budget_bytes, bytes + 20 * 64);
    const auto [more, more_chunks] = whole(topk_setting(keep + 1, message.round));
    ASSERT_TRUE(more > choice.budget_bytes || more_chunks > chunks ||
                chunk_count(next_chunk) > chunks);
    ASSERT_EQ(choice.setting.rotation, message.round);
  }
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
    ASSERT_LE(topk_budget_bytes(round_time, later), budget);
  }
}

TEST(PolicyDeathTest, KimadWithoutARoundTimeIsOurMistake) {
  EXPECT_DEATH((void)make_policy({policy_options("kimad"), make_codec("topk")}), "a round time");
}

}  // namespace
}  // namespace kimesh
