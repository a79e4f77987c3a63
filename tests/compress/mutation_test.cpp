// Damaged messages, a million for each decoder (fewer under a sanitizer): what is refused leaves no
// trace, what is accepted adds finite numbers.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/compress/inputs.h"
#include "tests/sanitized.h"

namespace kimesh::mutation_test {
namespace {

constexpr std::size_t kElementsMax = 96;
constexpr std::uint64_t kRuns = test::seeds_of(1000);
constexpr unsigned kMessagesPerRun = 1000;

struct Message {
  std::vector<std::byte> bytes;
  std::size_t size;  // of the vector
};

// Correct messages of this form.
std::vector<Message> messages_of(Form form) {
  CompressScratch scratch;
  std::vector<Message> messages;
  for (const Named& unsized : settings_that_write(form))
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Random random = stream(seed);
      const auto kind = static_cast<VectorKind>(random.below(kKinds));
      Input input = input_of(random, kind, 1 + random.below(kElementsMax));
      const Setting setting = sized(unsized, random, input);
      auto made = advance(input.target, input.estimate, input.pieces, setting, scratch);
      if (made.ok() && made->form == form && !made->bytes.empty())
        messages.push_back({std::move(made->bytes), input.target.size()});
    }
  return messages;
}

// Anywhere, the head as often as all the rest.
std::size_t place_in(Random& random, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return random.below(random.below(2) == 0 ? std::min(size, 8u) : size);
}

void damage(Random& random, const std::vector<Message>& messages, std::vector<std::byte>& bytes) {
  constexpr std::uint8_t kAwkward[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x20, 0x40};
  const std::uint32_t kind = random.below(10);
  if (kind == 0 || bytes.empty()) {  // cut, or longer
    bytes.resize(random.below(static_cast<std::uint32_t>(bytes.size()) + 12));
    return;
  }
  const std::size_t at = place_in(random, bytes);
  if (kind == 1) bytes.resize(at);
  if (kind == 2) {  // the end of another message
    const auto count = static_cast<std::uint32_t>(messages.size());
    const std::vector<std::byte>& other = messages[random.below(count)].bytes;
    if (at < other.size())
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
    bytes.resize(other.size());
  }
  if (kind == 3 || kind == 4) bytes[at] = std::byte(random.below(256));
  if (kind == 5) bytes[at] = std::byte(kAwkward[random.below(8)]);
  if (kind == 6) bytes[at] = std::byte(std::to_integer<unsigned>(bytes[at]) + 1);
  if (kind == 7) bytes[at] = bytes[place_in(random, bytes)];
  if (kind >= 8) bytes[at] ^= std::byte(1u << random.below(8));
}

class Decoder : public testing::TestWithParam<Form> {};

INSTANTIATE_TEST_SUITE_P(OfForm, Decoder, testing::ValuesIn(all_forms()),
                         [](const auto& its) { return name_of(its.param); });

// Seen to fail with the checks of finite values taken out, and with that of a packed message's
// length.
TEST_P(Decoder, SurvivesDamagedMessages) {
  const std::vector<Message> messages = messages_of(GetParam());
  ASSERT_GT(messages.size(), 5u);
  const std::vector<float> before(kElementsMax + 1, 1.0f);
  std::vector<float> after = before;
  unsigned refused = 0, accepted = 0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    Random random = stream(run);
    for (unsigned n = 0; n < kMessagesPerRun; ++n) {
      const Message& message = messages[random.below(static_cast<std::uint32_t>(messages.size()))];
      std::vector<std::byte> bytes = message.bytes;
      for (std::uint32_t left = 1 + random.below(3); left > 0; --left)
        damage(random, messages, bytes);
      const std::size_t size = message.size + (random.below(16) == 0 ? 1 : 0);
      const std::span<float> estimate = std::span(after).first(size);
      const Status status = apply(GetParam(), bytes, estimate);
      ++(status.ok() ? accepted : refused);
      if (n % 16 == 0) {
        ASSERT_EQ(validate(GetParam(), bytes, size).ok(), status.ok()) << "seed " << run;
      }
      if (!status.ok()) {
        ASSERT_EQ(status.error().code, ErrorCode::kMalformed);
        ASSERT_EQ(std::memcmp(after.data(), before.data(), size * sizeof(float)), 0)
            << "seed " << run << ", message " << n;
        continue;
      }
      for (const float value : estimate) ASSERT_TRUE(std::isfinite(value)) << "seed " << run;
      std::ranges::copy(std::span(before).first(size), estimate.begin());
    }
  }
  EXPECT_GT(refused, test::seeds_of(100'000));
  EXPECT_GT(accepted, test::seeds_of(10'000));
}

}  // namespace
}  // namespace kimesh::mutation_test
