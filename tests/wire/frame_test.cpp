#include "kimesh/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kimesh/util/random.h"
#include "tests/wire/golden.h"

namespace kimesh::wire_test {
namespace {

using testing::HasSubstr;

Chunk chunk() {
  Chunk c;
  c.sequence = 0x030405060708;
  c.index = 4;
  c.count = 8;
  c.bytes = kContent;
  return c;
}

// One of each, with numbers whose bytes are all different.
std::vector<std::pair<std::string, Frame>> samples() {
  return {
      {"hello", Hello{kWireVersion, "a", "b", 0x1122334455667788, 0x0a0b0c0d0e0f1011, 2, 3, "0.1.0",
                      0x2122232425265251, 0x6261, 4, true, 77, 300, 5}},
      {"welcome", Welcome{"b", 0x8877665544332211, 4, 0x0102030405060708, 5}},
      {"refuse", Refuse{"no"}},
      {"chunk", chunk()},
      {"ack", Ack{0x030405060708, 0x11121314, 0x21222324, 0x3132333435363738, 0x4142}},
      {"ack-of-one-chunk", Ack{0x030405060708, 0x11121314}},
      {"applied", Applied{0x01020304, 0x11121314, 0x2122, Phase::kGather, ApplyOutcome{2}}},
      {"applied-of-no-generation", Applied{0x01020304, 0, 0x2122}},
      {"heartbeat", Heartbeat{}},
      {"halt", Halt{"a", HaltKind::kFailure, "disk full"}},
      {"bye", Bye{"a"}},
  };
}

constexpr RunTag kTag{0x5251, 0x6261};

bool same(const Frame& a, const Frame& b) {
  if (a.index() != b.index()) return false;
  return encode_frame(a) == encode_frame(b);
}

// Seen to fail: tail_ns written after chunks; fields of the hello renamed.
TEST(Frame, EveryTypeLooksAsItsGoldenFileSays) {
  for (const auto& [name, frame] : samples())
    EXPECT_EQ(hex(encode_frame(frame, kTag)), hex(golden(name))) << name;
}

TEST(Frame, EveryGoldenFileIsReadAsWhatItWasMadeFrom) {
  for (const auto& [name, frame] : samples()) {
    const std::vector<std::byte> bytes = golden(name);
    const auto decoded = decode_frame(bytes);
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
    EXPECT_TRUE(same(*decoded, frame)) << name;
    const bool tagged = name != "hello" && name != "refuse";
    EXPECT_TRUE(belongs_to(bytes, tagged ? kTag : RunTag{})) << name;
    EXPECT_FALSE(belongs_to(bytes, {kTag.run, 1})) << name;
    EXPECT_FALSE(belongs_to(bytes, {1, kTag.view})) << name;
    EXPECT_TRUE(belongs_to(encode_frame(frame, tag_of(bytes)), tag_of(bytes))) << name;
  }
}

TEST(Frame, AnyValuesSurviveTheRoundTrip) {
  constexpr std::uint64_t kSeed = 11;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " case " << i);
    Random random(kSeed, 0, i, Purpose::kTest);
    std::string text(random.below(200), ' ');
    for (char& c : text) c = static_cast<char>(random.below(256));
    const auto small = static_cast<std::uint16_t>(random.next_u32());
    const Hello hello{kWireVersion,
                      text,
                      "to",
                      random.next_u64(),
                      random.next_u64(),
                      random.next_u64(),
                      random.next_u64(),
                      text,
                      random.next_u64(),
                      small,
                      random.next_u32(),
                      random.below(2) == 1,
                      random.next_u64(),
                      random.next_u64(),
                      small};
    const Ack ack{random.next_u64() >> 16, random.next_u32(), random.next_u32(), random.next_u64(),
                  std::max<std::uint16_t>(small, 2)};
    const Halt halt{text, static_cast<HaltKind>(small), text};
    const auto bytes = encode_frame(hello);
    EXPECT_EQ(std::get<Hello>(*decode_frame(bytes)), hello);
    EXPECT_EQ(std::get<Ack>(*decode_frame(encode_frame(ack))), ack);
    EXPECT_EQ(std::get<Halt>(*decode_frame(encode_frame(halt))), halt);
  }
}

TEST(Frame, AChunksBytesStayInItsFrame) {
  const auto frame = encode_frame(chunk());
  const auto decoded = decode_frame(frame);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Chunk>(*decoded).bytes.data(), frame.data() + kChunkHeadBytes);
}

TEST(Frame, AChunksHeadAloneIsTheStartOfItsFrame) {
  std::array<std::byte, kChunkHeadBytes> head;
  encode_chunk_head(chunk(), kTag, head);
  const auto frame = encode_frame(chunk(), kTag);
  EXPECT_TRUE(std::equal(head.begin(), head.end(), frame.begin()));
}

TEST(Frame, ATextThatIsTooLongIsCutBetweenCharacters) {
  std::string reason(kTextBytesMax - 1, 'x');
  reason += "\xc3\xa9 and more";  // a letter of two bytes across the limit
  const auto frame = encode_frame(Halt{"a", HaltKind::kUserStop, reason});
  const auto decoded = decode_frame(frame);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(std::get<Halt>(*decoded).reason, std::string(kTextBytesMax - 1, 'x'));
}

// Short heads have no version: they follow a hello, which has one.
TEST(Frame, OfLongHeadsOfAnotherVersionHelloAndRefuseAreReadAlone) {
  for (const auto& [name, frame] : samples()) {
    auto bytes = encode_frame(frame);
    if ((bytes[0] & std::byte{0x80}) != std::byte{0}) continue;
    bytes[2] = std::byte{kWireVersion + 1};
    EXPECT_EQ(decode_frame(bytes).ok(), name == "hello" || name == "refuse") << name;
  }
}

TEST(Frame, WhatNoPeerSendsIsMalformed) {
  const auto refused = [](Frame frame, std::size_t at, int value) {
    auto bytes = encode_frame(frame);
    bytes.at(at) = static_cast<std::byte>(value);
    const auto decoded = decode_frame(bytes);
    return decoded.ok() ? std::string("accepted") : decoded.error().message;
  };
  EXPECT_THAT(refused(Heartbeat{}, 0, 0), HasSubstr("no frame of kimesh"));
  EXPECT_THAT(refused(Heartbeat{}, 3, 63), HasSubstr("unknown type 63"));
  EXPECT_THAT(refused(Heartbeat{}, 3, 4), HasSubstr("head should be short"));
  EXPECT_THAT(refused(chunk(), 0, 0x87), HasSubstr("unknown type 7"));
  EXPECT_THAT(refused(chunk(), 9, 8), HasSubstr("beyond its message's count"));
  EXPECT_THAT(refused(Applied{}, 9, 2), HasSubstr("neither reduce nor gather"));
  EXPECT_THAT(refused(Bye{"a"}, 8, 0x91), HasSubstr("no msgpack map"));
  EXPECT_FALSE(decode_frame({}).ok());
}

// Seen to fail: the hello of version 4 read as one of version 5 ("it has no run").
TEST(Frame, AHelloOfAnEarlierVersionIsReadSoThatItCanBeRefused) {
  struct Earlier {
    std::uint8_t version, fields;
    std::string first_missing;
  };
  for (const auto& [version, fields, first_missing] :
       {Earlier{4, 8, "\xa3run"}, Earlier{5, 11, "\xa8receiver"}}) {
    Hello hello{version, "a", "b", 1, 2, 3, 4, "0.3.0"};
    auto bytes = encode_frame(hello);
    bytes[2] = std::byte{version};
    bytes[kFrameHeadBytes] = std::byte{0x80} | std::byte{fields};
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bytes.resize(text.find(first_missing));
    const auto decoded = decode_frame(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(std::get<Hello>(*decoded), hello);
  }
}

TEST(Frame, AFrameOfALaterTypeIsPassedOver) {
  auto bytes = encode_frame(Heartbeat{}, kTag);
  bytes[3] = std::byte{kLaterTypes};
  bytes.insert(bytes.end(), kContent.begin(), kContent.end());
  const auto decoded = decode_frame(bytes);
  ASSERT_TRUE(decoded.ok());
  const Later& later = std::get<Later>(*decoded);
  EXPECT_EQ(later.type, kLaterTypes);
  EXPECT_TRUE(std::ranges::equal(later.body, kContent));
  EXPECT_EQ(encode_frame(later, kTag), bytes);
}

std::string bye_with(std::string_view more, int fields) {
  std::string body = "\xde";  // a map with 16 bits of length
  body += static_cast<char>(fields >> 8);
  body += static_cast<char>(fields);
  return body.append("\xa4node\xa1").append("a").append(more);
}

bool accepts(std::string_view body, char type) {
  std::string head("\x4b\x4d\x01\0\0\0\0\0", 8);
  head[2] = static_cast<char>(kWireVersion);
  head[3] = type;
  return decode_frame(bytes_of(head.append(body))).ok();
}

// A map of 2^32 pairs, a text of 4 GB, nesting: msgpack must not make room for them. Seen to fail
// (17 fields, the long text and the array were accepted) with the limits of msgpack::unpack taken
// away.
TEST(Frame, ClaimedSizesAreRefusedBeforeMemoryIsTaken) {
  using namespace std::string_view_literals;
  for (const std::string_view body :
       {"\xdf\xff\xff\xff\xff"sv, "\x81\xdb\xff\xff\xff\xff"sv, "\xdd\xff\xff\xff\xff"sv,
        "\xc6\xff\xff\xff\xff"sv, "\xc9\xff\xff\xff\xff\x01"sv})
    EXPECT_FALSE(accepts(body, 1));
  std::string fifteen;
  for (int i = 0; i < 15; ++i) fifteen += "\xa1x\x01";
  EXPECT_TRUE(accepts(bye_with(fifteen, 16), 9));
  EXPECT_FALSE(accepts(bye_with(fifteen + "\xa1x\x01", 17), 9));
  EXPECT_FALSE(accepts(bye_with("\xa1x\x91\x01", 2), 9));
  EXPECT_FALSE(accepts(bye_with("\xa1x\xda\x13\x88" + std::string(5000, 'y'), 2), 9));
  EXPECT_FALSE(decode_frame(std::vector<std::byte>(kFrameBytesMax + 1)).ok());
}

// The address sanitizer's build runs this as well. Seen to fail: the length check of an ack taken
// away (aborts).
TEST(Frame, AHundredThousandMutationsNeverCrashAndWhatIsAcceptedIsEncodedAgain) {
  constexpr std::uint64_t kSeed = 12;
  const auto all = samples();
  std::size_t accepted = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    Random random(kSeed, 1, i, Purpose::kTest);
    auto bytes = encode_frame(all[random.below(static_cast<std::uint32_t>(all.size()))].second);
    mutate(bytes, random);
    const auto decoded = decode_frame(bytes);
    if (!decoded.ok()) continue;
    ++accepted;
    const auto again = encode_frame(*decoded);
    const auto twice = decode_frame(again);
    ASSERT_TRUE(twice.ok()) << "seed " << kSeed << " case " << i;
    ASSERT_TRUE(same(*twice, *decoded)) << "seed " << kSeed << " case " << i;
  }
  EXPECT_GT(accepted, 1000u);  // else the mutations are too wild to reach the bodies
}

}  // namespace
}  // namespace kimesh::wire_test
