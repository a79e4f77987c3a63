#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kimesh/util/random.h"
#include "kimesh/wire/frame.h"
#include "tests/wire/golden.h"

namespace kimesh::wire_test {
namespace {

Message message() {
  Message m;
  m.round = 0x01020304;
  m.generation = 0x11121314;
  m.shard = 0x2122;
  m.phase = Phase::kGather;
  m.form = Form::kSparse;
  m.restart = true;
  m.digest = 0x3132333435363738;
  m.control = {1.0, 0, 0, 0.1};
  m.control[8] = -2.5;
  m.payload = Payload({kContent.begin(), kContent.end()});
  return m;
}

// As its chunks join to it.
std::vector<std::byte> joined(const Message& m) {
  std::vector<std::byte> bytes = encode_message_head(m);
  bytes.insert(bytes.end(), m.payload.bytes().begin(), m.payload.bytes().end());
  return bytes;
}

TEST(Message, LooksAsItsGoldenFileSays) {
  EXPECT_EQ(hex(joined(message())), hex(golden("message")));
  Message bare;
  bare.round = 0x01020304;
  bare.shard = 0x2122;
  bare.form = Form::kSparse;
  bare.payload = Payload({kContent.begin(), kContent.end()});
  EXPECT_EQ(hex(joined(bare)), hex(golden("message-of-payload-alone")));
}

TEST(Message, HasOneForm) {
  Message m = message();
  m.generation = 0;
  const std::vector<std::byte> bytes = joined(m);
  auto with_generation = bytes;
  with_generation[0] |= std::byte{4};
  with_generation.insert(with_generation.begin() + kMessageHeadBytes, kGenerationBytes, {});
  const auto decoded = decode_message(with_generation);
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.error().message.find("optional part that is 0"), std::string::npos);
}

TEST(Message, SurvivesTheRoundTripAndItsSizeIsForetold) {
  auto bytes = joined(message());
  EXPECT_EQ(bytes.size(), message_bytes(kContent.size(), optional_bytes(message())));
  EXPECT_EQ(wire_bytes(bytes.size(), 3), bytes.size() + 3 * kChunkHeadBytes);
  const std::vector<std::byte> before = bytes;
  const std::byte* payload = bytes.data() + bytes.size() - kContent.size();
  const auto decoded = decode_message(std::move(bytes));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->control, message().control);
  EXPECT_EQ(decoded->digest, message().digest);
  EXPECT_EQ(joined(*decoded), before);
  EXPECT_EQ(decoded->payload.bytes().data(), payload) << "the payload is not copied";
}

// Seen to fail: all values written as floats; the values' numbers cut to one byte; doubles counted
// as floats.
TEST(Message, ControlValuesComeBackExactlyAndTheirSizeIsForetold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::uint64_t kSeed = 14;
  const std::vector<double> values{1,         -2.5,     1e-3F,     1e-3,  0x1p32,     0x1p53 - 1,
                                   kInfinity, 0x1p-149, 0x1p-1074, 1e300, -kInfinity, 16777217};
  for (std::uint32_t i = 0; i < 2000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " case " << i);
    Random random(kSeed, 3, i, Purpose::kTest);
    Message m;
    const std::uint32_t set = random.next_u32() & random.next_u32();
    for (std::size_t v = 0; v < kControlSlots; ++v)
      if ((set >> v & 1) != 0)
        m.control[v] = values[random.below(static_cast<std::uint32_t>(values.size()))];
    const auto bytes = joined(m);
    ASSERT_EQ(bytes.size(), message_bytes(0, optional_bytes(m)));
    ASSERT_LE(optional_bytes(m), kOptionalBytesMax);
    const auto decoded = decode_message(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    ASSERT_EQ(decoded->control, m.control);
  }
  Message unknown_loss;
  unknown_loss.control[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(decode_message(joined(unknown_loss))->control[1]));
}

// The records are most of what small messages have besides their payload.
TEST(Message, ControlValuesTakeNoMoreThanTheyNeed) {
  EXPECT_EQ(control_bytes({}), 0u);
  EXPECT_EQ(control_bytes({0, 0, 0, 0, 0, 0, 1}), kRecordHeadBytes + 1 + sizeof(float));
  EXPECT_EQ(control_bytes({0, 0, 0, 0, 0, 0, 0, 1}), kRecordHeadBytes + 2 + sizeof(float));
  EXPECT_EQ(control_bytes({1, 0.1}), 2 * (kRecordHeadBytes + 1) + sizeof(float) + sizeof(double));
}

// A message whose records are these bytes.
std::vector<std::byte> with_records(const std::vector<int>& records) {
  std::vector<std::byte> bytes = joined(Message{});
  bytes[0] |= std::byte{16};
  bytes.push_back(static_cast<std::byte>(records.size()));
  bytes.push_back(std::byte{0});
  for (const int byte : records) bytes.push_back(static_cast<std::byte>(byte));
  bytes.insert(bytes.end(), kContent.begin(), kContent.end());
  return bytes;
}

// Seen to fail: an unknown record taken for control values; its length not skipped.
TEST(Message, RecordsOfUnknownKindsArePassedOverByTheirLength) {
  const auto decoded =
      decode_message(with_records({9, 3, 1, 8, 1, 1, 5, 2, 0, 0, 0x80, 0x3f, 200, 0, 9, 1, 5}));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->control, (Control{0, 1.0}));
  EXPECT_TRUE(std::ranges::equal(decoded->payload.bytes(), kContent));
}

TEST(Message, ARecordThatIsCutIsMalformed) {
  EXPECT_FALSE(decode_message(with_records({})).ok());
  EXPECT_FALSE(decode_message(with_records({9})).ok());
  EXPECT_FALSE(decode_message(with_records({9, 2, 1})).ok());
  EXPECT_FALSE(decode_message(with_records({1, 0})).ok()) << "no set of values";
  EXPECT_FALSE(decode_message(with_records({1, 1, 0x80})).ok()) << "a set that is cut";
  EXPECT_FALSE(decode_message(with_records({1, 4, 1, 0, 0, 0})).ok()) << "a value that is cut";
  EXPECT_FALSE(decode_message(with_records({1, 5, 0x80, 0x80, 0x80, 0x80, 0x10})).ok())
      << "a set of more than 32 bits";
  auto bytes = with_records({9, 0});
  bytes[kMessageHeadBytes] = static_cast<std::byte>(kContent.size() + 3);
  EXPECT_FALSE(decode_message(std::move(bytes)).ok());
}

TEST(Message, ControlValuesThatALaterVersionAddsArePassedOver) {
  std::vector<int> records{1, 5 + 32 * 4, 0xff, 0xff, 0xff, 0xff, 0x0f};
  for (int i = 0; i < 32; ++i) records.insert(records.end(), {0, 0, 0x80, 0x3f});
  const auto decoded = decode_message(with_records(records));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::ranges::all_of(decoded->control, [](double value) { return value == 1; }));
}

TEST(Message, UnknownFlagsAreMalformed) {
  auto bytes = joined(message());
  bytes[0] |= std::byte{32};
  EXPECT_FALSE(decode_message(std::move(bytes)).ok());
}

// Seen to fail: the comparison of the lengths taken away (aborts in the reader).
TEST(Message, MutationsNeverCrashAndLengthsMustAgree) {
  constexpr std::uint64_t kSeed = 13;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    Random random(kSeed, 2, i, Purpose::kTest);
    auto bytes = joined(message());
    mutate(bytes, random);
    const std::size_t size = bytes.size();
    const auto decoded = decode_message(std::move(bytes));
    if (!decoded.ok()) continue;
    ASSERT_LE(decoded->payload.size() + kMessageHeadBytes, size);
    ASSERT_EQ(message_bytes(decoded->payload.size(), optional_bytes(*decoded)),
              joined(*decoded).size())
        << "seed " << kSeed << " case " << i;
    const auto again = decode_message(joined(*decoded));
    ASSERT_TRUE(again.ok()) << "seed " << kSeed << " case " << i;
    ASSERT_EQ(joined(*again), joined(*decoded)) << "seed " << kSeed << " case " << i;
  }
}

}  // namespace
}  // namespace kimesh::wire_test
