#include "src/link/inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/util/random.h"

namespace kimesh::inbox_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

const std::vector<std::byte> kBytes(4000, std::byte{7});

Chunk chunk(std::uint64_t sequence, std::uint16_t index, std::uint16_t count = 4) {
  Chunk c;
  c.sequence = sequence;
  c.index = index;
  c.count = count;
  c.bytes = std::span(kBytes).first(1000);
  return c;
}

std::string problem_of(Inbox& inbox, const Chunk& chunk) {
  const auto arrival = inbox.add(chunk, at(0));
  return arrival.ok() ? "accepted" : arrival.error().message;
}

TEST(Inbox, HandsOnAWholeMessageAndAcksItWithTheTimeOfItsSecondHalf) {
  Inbox inbox(4000);
  for (std::uint16_t i = 0; i < 3; ++i) {
    const auto arrival = inbox.add(chunk(1, i), at(10 * i));
    ASSERT_TRUE(arrival.ok());
    EXPECT_FALSE(arrival->ack || arrival->message);
  }
  const auto arrival = inbox.add(chunk(1, 3), at(37));
  ASSERT_TRUE(arrival.ok() && arrival->ack && arrival->message);
  EXPECT_EQ(*arrival->message, kBytes);
  // The first half ends with the second chunk, at 10 ms.
  EXPECT_EQ(*arrival->ack, (Ack{1, 4000, 2 * (1000 + kChunkHeadBytes), 27'000'000, 4}));
}

// Growing by doubling would copy a message of 25 MB twice over.
TEST(Inbox, TakesTheMemoryOfAMessageOnceWithItsFirstChunk) {
  Inbox inbox(7000);
  for (std::uint16_t i = 0; i < 6; ++i) ASSERT_TRUE(inbox.add(chunk(1, i, 7), at(i)).ok());
  const auto arrival = inbox.add(chunk(1, 6, 7), at(6));
  ASSERT_TRUE(arrival.ok() && arrival->message);
  EXPECT_EQ(arrival->message->capacity(), 7000u);
}

// The second chunk ends in the middle of a segment that has come whole, so less than two chunks is
// still to come. ZeroMQ's 9 bytes of each chunk are not counted. Seen to fail: half_bytes not set.
TEST(Inbox, CountsAsItsTailWhatCameAfterTheFirstHalfAndNotWhatTheChunksHold) {
  Inbox inbox(4000);
  const std::uint64_t before = 5000, segment = 1000 + kChunkHeadBytes + 9;
  for (std::uint16_t i = 0; i < 3; ++i) {
    const std::uint64_t brought = before + segment * (i + 1) + segment / 2;
    ASSERT_TRUE(inbox.add(chunk(1, i), at(10 * i), brought).ok());
  }
  const auto arrival = inbox.add(chunk(1, 3), at(37), before + 4 * segment);
  ASSERT_TRUE(arrival.ok() && arrival->ack);
  const std::uint64_t came = 4 * segment - (2 * segment + segment / 2);
  EXPECT_EQ(arrival->ack->tail_bytes, (came * (1000 + kChunkHeadBytes) + segment / 2) / segment);
  EXPECT_EQ(arrival->ack->tail_ns, 27'000'000u);
}

// Seen to fail where only the last chunk bounds a tail, and where a tail begins one chunk late.
TEST(Inbox, TheBytesOfTheConnectionCountOnlyWhereTheTailBeginsAndEnds) {
  for (const std::uint16_t count : {1, 2, 3, 4, 7, 8}) {
    Inbox asked_always(8000), asked_at_bounds(8000);
    unsigned asked = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
      const Chunk part = chunk(1, i, count);
      const std::uint64_t bytes = 5000 + 1041 * i;
      const auto always = asked_always.add(part, at(i), bytes);
      const auto bounds =
          asked_at_bounds.add(part, at(i), Inbox::bounds_tail(part) ? bytes : std::uint64_t{0});
      ASSERT_TRUE(always.ok() && bounds.ok());
      EXPECT_EQ(always->ack, bounds->ack) << count;
      EXPECT_EQ(bounds->ack.has_value(), i + 1 == count);
      asked += Inbox::bounds_tail(part) ? 1 : 0;
    }
    EXPECT_LE(asked, 2u) << count;
  }
}

TEST(Inbox, AMessageOfOneChunkTellsNothingAboutTheRate) {
  Inbox inbox(4000);
  const auto arrival = inbox.add(chunk(1, 0, 1), at(5));
  ASSERT_TRUE(arrival.ok() && arrival->ack && arrival->message);
  EXPECT_EQ(*arrival->ack, (Ack{1, 1000, 0, 0, 1}));
}

// Seen to fail: the comparison with the highest sequence handed on taken away (handed on twice).
TEST(Inbox, ACopyIsAckedAndNotHandedOnAgain) {
  Inbox inbox(4000);
  for (int copy = 0; copy < 3; ++copy) {
    inbox.restart();
    for (std::uint16_t i = 0; i < 4; ++i) {
      const auto arrival = inbox.add(chunk(1, i), at(i));
      ASSERT_TRUE(arrival.ok());
      EXPECT_EQ(arrival->ack.has_value(), i == 3);
      EXPECT_EQ(arrival->message.has_value(), i == 3 && copy == 0);
    }
  }
}

// Seen to fail: each of the comparisons in Inbox::problem taken away in turn.
TEST(Inbox, RefusesWhatDoesNotJoin) {
  Inbox inbox(4000);
  Chunk too_large = chunk(1, 0, 1);
  const std::vector<std::byte> more(4001);
  too_large.bytes = more;
  EXPECT_THAT(problem_of(inbox, too_large), HasSubstr("over 4000 bytes"));
  EXPECT_THAT(problem_of(inbox, chunk(1, 0, 5)), HasSubstr("over 4000 bytes"));
  EXPECT_THAT(problem_of(inbox, chunk(2, 0)), HasSubstr("message 2 before message 1"));
  EXPECT_THAT(problem_of(inbox, chunk(1, 1)), HasSubstr("does not join"));
  const auto broken = [&](auto change) {
    inbox.restart();
    EXPECT_EQ(problem_of(inbox, chunk(1, 0)), "accepted");
    Chunk next = chunk(1, 1);
    change(next);
    return problem_of(inbox, next);
  };
  EXPECT_EQ(broken([](Chunk&) {}), "accepted");
  EXPECT_THAT(broken([](Chunk& c) { c.index = 2; }), HasSubstr("does not join"));
  EXPECT_THAT(broken([](Chunk& c) { c.sequence = 0; }), HasSubstr("does not join"));
  EXPECT_THAT(broken([](Chunk& c) { c.count = 5; }), HasSubstr("does not join"));
  EXPECT_THAT(broken([](Chunk& c) { c.bytes = {}; }), HasSubstr("without content"));
  EXPECT_THAT(broken([](Chunk& c) { c.bytes = std::span(kBytes).first(1001); }),
              HasSubstr("does not join"));
  EXPECT_EQ(broken([](Chunk& c) { c.bytes = c.bytes.first(999); }), "accepted");
  EXPECT_THAT(broken([](Chunk& c) { c.bytes = c.bytes.first(998); }), HasSubstr("does not join"));
}

// Seen to fail: partial_ given up in restart.
TEST(Inbox, AMessageInPartsGoesOnAfterAReconnect) {
  Inbox inbox(4000);
  EXPECT_EQ(inbox.held(), 0u);
  for (std::uint16_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(inbox.add(chunk(1, i), at(i), 1000u * i).ok());
    EXPECT_EQ(inbox.delivered(), 0u);
    EXPECT_EQ(inbox.held(), i + 1);
    inbox.restart();
  }
  const auto arrival = inbox.add(chunk(1, 3), at(3), 50);
  ASSERT_TRUE(arrival.ok() && arrival->message);
  EXPECT_EQ(*arrival->message, kBytes);
  EXPECT_EQ(inbox.delivered(), 1u);
  EXPECT_EQ(inbox.held(), 0u);
}

TEST(Inbox, AnyChunksInAnyOrderNeverGrowItBeyondItsLimit) {
  constexpr std::uint64_t kSeed = 21;
  Random random(kSeed, 0, 0, Purpose::kTest);
  Inbox inbox(4000);
  std::uint64_t next = 1;
  std::uint16_t index = 0;
  for (int i = 0; i < 200'000; ++i) {
    const bool wild = random.below(16) == 0;
    if (wild) index = static_cast<std::uint16_t>(random.below(4));
    Chunk c = chunk(next - (wild ? random.below(2) : 0), index);
    index = (index + 1) % 4;
    if (!wild) {
      const auto arrival = inbox.add(c, at(i));
      if (arrival.ok() && arrival->message) ++next;
      continue;
    }
    if (random.below(8) == 0) c.count = static_cast<std::uint16_t>(1 + random.below(8));
    if (random.below(8) == 0) c.bytes = std::span(kBytes).first(random.below(4001));
    const auto arrival = inbox.add(c, at(i));
    if (!arrival.ok() || !arrival->message) continue;
    ASSERT_LE(arrival->message->capacity(), 4000u) << "seed " << kSeed << " step " << i;
    ASSERT_EQ(arrival->ack->sequence, next) << "seed " << kSeed << " step " << i;
    ++next;
  }
  EXPECT_GT(next, 100u);
}

}  // namespace
}  // namespace kimesh::inbox_test
