#include "src/link/outbox.h"

#include <gtest/gtest.h>

#include "src/link/inbox.h"

namespace kimesh::outbox_test {
namespace {

using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

std::vector<std::byte> message(std::size_t size, unsigned salt = 0) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + salt);
  return bytes;
}

Ack ack_of(std::uint64_t sequence, std::size_t bytes) {
  return Ack{sequence, static_cast<std::uint32_t>(bytes), 100, 5'000'000,
             static_cast<std::uint16_t>(std::max<std::size_t>(chunk_count(bytes), 1))};
}

// Places all chunks that are due at one time.
void place_all(Outbox& outbox, TimePoint now, bool behind = false) {
  for (; outbox.next(); behind = true) outbox.placed(now, behind);
}

TEST(Outbox, CutsAMessageIntoChunksThatDifferByAtMostOneByteAndJoinToIt) {
  for (const std::size_t size : {0u, 1u, 511u, 4096u, 4099u, 524'288u, 524'289u, 3'000'001u}) {
    Outbox outbox;
    // A head and a payload, which lie apart.
    const std::vector<std::byte> whole = message(size);
    const auto cut = whole.begin() + std::min<std::ptrdiff_t>(28, std::ssize(whole));
    outbox.push({whole.begin(), cut}, Payload({cut, whole.end()}));
    std::vector<std::byte> joined;
    std::size_t least = size, most = 0, chunks = 0;
    while (const auto chunk = outbox.next()) {
      EXPECT_EQ(chunk->sequence, 1u);
      EXPECT_EQ(chunk->index, chunks++);
      EXPECT_EQ(chunk->count, std::max<std::size_t>(chunk_count(size), 1));
      for (const auto part : {chunk->bytes, chunk->more})
        joined.insert(joined.end(), part.begin(), part.end());
      least = std::min(least, chunk->size());
      most = std::max(most, chunk->size());
      outbox.placed(at(0), false);
    }
    EXPECT_EQ(joined, message(size));
    EXPECT_LE(most - least, 1u);
    EXPECT_LE(most, kChunkBytesMax);
    EXPECT_EQ(chunks, std::max<std::size_t>(chunk_count(size), 1));
  }
}

// Seen to fail: restart without going back to the first message held.
TEST(Outbox, SendsAllThatIsNotAckedAgainFromItsFirstChunkAfterAReconnect) {
  Outbox outbox;
  for (int i = 0; i < 3; ++i) outbox.push(message(4096), {});
  for (int i = 0; i < 20; ++i) outbox.placed(at(i), true);  // two and a half messages
  ASSERT_TRUE(outbox.acked(ack_of(1, 4096), at(20)).ok());
  outbox.restart();
  for (const std::uint64_t sequence : {2, 3})
    for (int index = 0; index < 8; ++index) {
      const auto chunk = outbox.next();
      ASSERT_TRUE(chunk);
      EXPECT_EQ(chunk->sequence, sequence);
      EXPECT_EQ(chunk->index, index);
      outbox.placed(at(30), true);
    }
  EXPECT_FALSE(outbox.next());
  EXPECT_EQ(outbox.held(), 2u);
}

// Seen to fail: next_index_ left at 0; the messages that were handed on kept.
TEST(Outbox, GoesOnAtTheChunkWhereTheFarSideIs) {
  Outbox outbox;
  for (int i = 0; i < 3; ++i) outbox.push(message(4096), {});
  place_all(outbox, at(0));
  outbox.restart();
  const auto removed = outbox.resume(1, 5);
  ASSERT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_EQ(*removed, 1u);
  EXPECT_EQ(outbox.held(), 2u);
  for (const int index : {5, 6, 7}) {
    EXPECT_EQ(outbox.next()->sequence, 2u);
    EXPECT_EQ(outbox.next()->index, index);
    outbox.placed(at(5 + index), true);
  }
  EXPECT_EQ(outbox.next()->sequence, 3u);
  EXPECT_EQ(outbox.next()->index, 0u);
  const auto sample = outbox.acked(ack_of(2, 4096), at(30));
  ASSERT_TRUE(sample.ok() && *sample);
  EXPECT_TRUE((*sample)->sender_limited);
}

TEST(Outbox, AWelcomeThatCannotBeIsMalformed) {
  const auto refused = [](std::uint64_t delivered, std::uint16_t held) {
    Outbox outbox;
    for (int i = 0; i < 3; ++i) outbox.push(message(4096), {});
    EXPECT_TRUE(outbox.acked(ack_of(1, 4096), at(0)).ok());
    const bool malformed = !outbox.resume(delivered, held).ok();
    EXPECT_EQ(outbox.held(), malformed ? 2u : 3 - delivered);
    return malformed;
  };
  EXPECT_FALSE(refused(1, 0));
  EXPECT_FALSE(refused(1, 7));
  EXPECT_FALSE(refused(3, 0));
  EXPECT_TRUE(refused(0, 0));  // it has acked message 1
  EXPECT_TRUE(refused(4, 0));
  EXPECT_TRUE(refused(~std::uint64_t{0}, 0));
  EXPECT_TRUE(refused(1, 8));
  EXPECT_TRUE(refused(3, 1));
}

TEST(Outbox, MeasuresFromTheFirstChunkOrFromTheAckBeforeWhenThereWasNoGap) {
  Outbox outbox;
  outbox.push(message(4096), {});
  place_all(outbox, at(10));
  outbox.push(message(4096), {});
  place_all(outbox, at(20), true);  // behind the first
  const auto first = outbox.acked(ack_of(1, 4096), at(50));
  ASSERT_TRUE(first.ok() && *first);
  EXPECT_EQ((*first)->elapsed, milliseconds(40));
  EXPECT_FALSE((*first)->followed);
  EXPECT_EQ((*first)->bytes, wire_bytes(4096, 8));
  EXPECT_EQ((*first)->tail_time, milliseconds(5));
  outbox.push(message(4096), {});
  place_all(outbox, at(60));  // the second is not acked, but has left: a gap
  const auto second = outbox.acked(ack_of(2, 4096), at(80));
  ASSERT_TRUE(second.ok() && *second);
  EXPECT_TRUE((*second)->followed);
  EXPECT_EQ((*second)->elapsed, milliseconds(30));
  const auto third = outbox.acked(ack_of(3, 4096), at(90));
  ASSERT_TRUE(third.ok() && *third);
  EXPECT_FALSE((*third)->followed);
  EXPECT_EQ((*third)->elapsed, milliseconds(30));
  EXPECT_EQ(outbox.held(), 0u);
}

// Seen to fail: told of a message that began after the ack.
TEST(Outbox, TellsTheTimeSinceTheAckBeforeOfAMessageThatHadBegunByThen) {
  Outbox outbox;
  for (const int begun : {0, 10, 60}) {
    outbox.push(message(4096), {});
    place_all(outbox, at(begun));
  }
  const auto since_ack = [&](std::uint64_t sequence, int ms) {
    return (*outbox.acked(ack_of(sequence, 4096), at(ms)))->since_ack;
  };
  EXPECT_EQ(since_ack(1, 50), std::nullopt);
  EXPECT_EQ(since_ack(2, 51), milliseconds(1));
  EXPECT_EQ(since_ack(3, 90), std::nullopt);
}

TEST(Outbox, TellsThePaceOfAMessageUntilItsAck) {
  Outbox outbox;
  outbox.push(message(100), {}, 2e6);
  outbox.push(message(100), {});
  place_all(outbox, at(0));
  EXPECT_EQ(outbox.pace_bytes_per_s(1), 2e6);
  EXPECT_EQ(outbox.pace_bytes_per_s(2), 0);
  ASSERT_TRUE(outbox.acked(ack_of(1, 100), at(1)).ok());
  EXPECT_EQ(outbox.pace_bytes_per_s(1), 0);
}

TEST(Outbox, SaysOfWhatWasRepeatedOrLateThatItsTimeIsOfNoUse) {
  Outbox outbox;
  for (int i = 0; i < 3; ++i) outbox.push(message(4096), {});
  for (int i = 0; i < 4; ++i) outbox.placed(at(i), false);
  outbox.restart();
  place_all(outbox, at(10));
  outbox.limited(3);
  EXPECT_TRUE((*outbox.acked(ack_of(1, 4096), at(20)))->sender_limited);
  EXPECT_FALSE((*outbox.acked(ack_of(2, 4096), at(20)))->sender_limited);
  EXPECT_TRUE((*outbox.acked(ack_of(3, 4096), at(20)))->sender_limited);
}

TEST(Outbox, TakesAnAckOnceAndRefusesOneOfWhatWasNeverSent) {
  Outbox outbox;
  outbox.push(message(100), {});
  place_all(outbox, at(0));
  EXPECT_FALSE(outbox.acked(ack_of(0, 100), at(1)).ok());
  EXPECT_FALSE(outbox.acked(ack_of(2, 100), at(1)).ok());
  EXPECT_FALSE(outbox.acked(ack_of(1, 99), at(1)).ok());
  EXPECT_TRUE(outbox.acked(ack_of(1, 100), at(1))->has_value());
  EXPECT_FALSE(outbox.acked(ack_of(1, 100), at(1))->has_value());
}

// Seen to fail: an ack was taken before that of an older message, after which a welcome removed
// messages that the far side did not have, or more than there were.
TEST(Outbox, AnAckBeforeThatOfAnOlderMessageIsMalformedAndChangesNothing) {
  for (const std::size_t messages : {2u, 3u}) {
    Outbox outbox;
    for (std::size_t i = 0; i < messages; ++i) outbox.push(message(100), {});
    place_all(outbox, at(0));
    EXPECT_FALSE(outbox.acked(ack_of(2, 100), at(1)).ok());
    EXPECT_EQ(outbox.held(), messages);
    outbox.restart();
    const auto removed = outbox.resume(2, 0);
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    EXPECT_EQ(*removed, 2u);
    EXPECT_EQ(outbox.held(), messages - 2);
    EXPECT_EQ(outbox.next().has_value(), messages > 2);
  }
}

TEST(Outbox, GoesOnWithTheNextWhenAMessageIsAckedWhileItIsRepeated) {
  Outbox outbox;
  outbox.push(message(4096), {});
  outbox.push(message(4096), {});
  place_all(outbox, at(0));
  outbox.restart();
  outbox.placed(at(1), false);
  ASSERT_TRUE(outbox.acked(ack_of(1, 4096), at(2)).ok());  // of the connection before
  const auto chunk = outbox.next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->sequence, 2u);
  EXPECT_EQ(chunk->index, 0);
  place_all(outbox, at(3));
  EXPECT_TRUE(outbox.acked(ack_of(2, 4096), at(4))->has_value());
}

TEST(OutboxAndInbox, ACutAfterAnyChunkLosesNothingAndDuplicatesNothing) {
  const std::size_t sizes[] = {0, 700, 4096, 70'000};
  const int chunks_in_all = 1 + 1 + 8 + 8;
  for (int cut = 0; cut <= chunks_in_all; ++cut)
    for (const bool ack_lost : {false, true}) {
      SCOPED_TRACE(testing::Message() << "cut after chunk " << cut << " ack lost " << ack_lost);
      Outbox outbox;
      Inbox inbox(1 << 20);
      for (const std::size_t size : sizes) outbox.push(message(size, 7), {});
      std::vector<std::size_t> arrived;
      for (int placed = 0; const auto chunk = outbox.next(); ++placed) {
        if (placed == cut) {
          outbox.restart();
          inbox.restart();
          continue;
        }
        const auto arrival = inbox.add(*chunk, at(placed));
        ASSERT_TRUE(arrival.ok()) << arrival.error().message;
        if (arrival->message) {
          EXPECT_EQ(*arrival->message, message(arrival->message->size(), 7));
          arrived.push_back(arrival->message->size());
        }
        outbox.placed(at(placed), false);
        const bool lost = ack_lost && placed < cut;
        if (arrival->ack && !lost) {
          ASSERT_TRUE(outbox.acked(*arrival->ack, at(placed)).ok());
        }
      }
      EXPECT_EQ(arrived, std::vector<std::size_t>(std::begin(sizes), std::end(sizes)));
    }
}

}  // namespace
}  // namespace kimesh::outbox_test
