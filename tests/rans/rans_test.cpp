// The entropy coder: what it writes it reads, in few bytes, and nothing else.
#include "kimesh/rans/rans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kimesh/rans/model.h"
#include "kimesh/util/random.h"

namespace kimesh::rans::rans_test {
namespace {

Random stream(std::uint64_t seed) {
  return Random(seed, 0, 0, Purpose::kTest);
}

struct Sample {
  std::vector<std::uint32_t> indices, marks;
  std::size_t size = 0;
};

std::uint32_t exponential(Random& random, double mean) {
  return static_cast<std::uint32_t>(-mean * std::log(1 - random.uniform()));
}

// Gaps that come geometrically, now dense, now sparse; levels as large as a stream likes.
Sample sample_of(Random& random, std::size_t count_max) {
  Sample sample;
  const double level = std::exp(9 * random.uniform()) - 0.9;
  const std::uint32_t count = 1 + random.below(static_cast<std::uint32_t>(count_max));
  double gap = std::exp(8 * random.uniform());
  std::uint64_t next = random.below(2) == 0 ? 0 : random.below(1000000);
  for (std::uint32_t i = 0; i < count && next < kSizeMax; ++i) {
    if (random.below(200) == 0) gap = std::exp(8 * random.uniform());
    sample.indices.push_back(static_cast<std::uint32_t>(next));
    const std::uint32_t far = random.below(300) == 0 ? kLevelMax : 0;
    sample.marks.push_back(std::min(far + exponential(random, level), kLevelMax) << 1 |
                           random.below(2));
    next += 1 + exponential(random, gap);
  }
  sample.size = std::min<std::size_t>(sample.indices.back() + 1 + random.below(100), kSizeMax);
  return sample;
}

void expect_round_trip(const Sample& sample, bool marked) {
  const std::span<const std::uint32_t> marks =
      marked ? std::span<const std::uint32_t>(sample.marks) : std::span<const std::uint32_t>();
  Scratch scratch;
  std::vector<std::byte> bytes;
  const unsigned state_bytes = encode(sample.indices, marks, sample.size, scratch, bytes);
  Elements elements;
  const DecodeParameters parameters{sample.indices.size(), sample.size, marked, state_bytes};
  const Status decoded = decode(bytes, parameters, elements);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(std::ranges::equal(elements.indices, sample.indices));
  EXPECT_TRUE(std::ranges::equal(elements.marks, marks));
}

// Seen to fail with words taken at the start of an element instead of its end (four streams only),
// and with an inverse that was rounded down.
TEST(Rans, ReadsWhatItWrote) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = stream(seed);
    const Sample sample = sample_of(random, seed % 4 == 0 ? 20000 : 300);
    expect_round_trip(sample, random.below(4) > 0);
    if (testing::Test::HasFailure()) return;
  }
}

// Seen to fail with the bits behind escapes left out, and with costs of the tables as they are
// afterwards.
TEST(Rans, MeasuresWhatItWrites) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = stream(seed);
    const Sample sample = sample_of(random, seed % 4 == 0 ? 20000 : 300);
    Scratch scratch;
    std::vector<std::byte> bytes;
    const auto measured =
        static_cast<double>(measure(sample.indices, sample.marks, sample.size, scratch));
    write(sample.indices, sample.marks, scratch, bytes);
    const double off = sample.indices.size() < kFewElements ? 2 : 8;
    EXPECT_NEAR(static_cast<double>(bytes.size()), measured / 8, off);
  }
}

// From one stream to four, and with every remainder.
TEST(Rans, ReadsWhatItWroteWhereverLanesEnd) {
  for (std::size_t count : {1u, 31u, 32u, 33u, 4095u, 4096u, 4097u, 4098u, 4099u, 8192u}) {
    SCOPED_TRACE(std::to_string(count) + " elements");
    Sample sample;
    Random random = stream(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      sample.indices.push_back(3 * i + random.below(3));
      sample.marks.push_back(random.below(9));
    }
    sample.size = 3 * count;
    expect_round_trip(sample, true);
    expect_round_trip(sample, false);
  }
}

// Seen to fail with the escape's length in 4 bits.
TEST(Rans, HoldsTheLargestVectorAndTheLargestLevel) {
  const auto last = static_cast<std::uint32_t>(kSizeMax - 1);
  expect_round_trip({{last}, {2 * kLevelMax + 1}, kSizeMax}, true);
  expect_round_trip({{0, last}, {2 * kLevelMax, 0}, kSizeMax}, true);
  expect_round_trip({{0, 1, last - 1, last}, {}, kSizeMax}, false);
}

// The entropy of such elements, of which nothing is known before, and 1 % beside it. Seen
// to fail with tables that are never renewed.
TEST(Rans, TakesLittleMoreThanTheEntropy) {
  constexpr double kShare = 0.02;
  Random random = stream(1);
  Sample sample;
  sample.size = 5'000'000;
  std::array<double, 40> levels{};
  for (std::uint32_t j = 0; j < sample.size; ++j) {
    if (random.uniform() >= kShare) continue;
    const std::uint32_t level = exponential(random, 1.5);
    ++levels[std::min<std::size_t>(level, levels.size() - 1)];
    sample.indices.push_back(j);
    sample.marks.push_back(level << 1 | random.below(2));
  }
  const auto count = static_cast<double>(sample.indices.size());
  double bits = count;  // signs
  for (const double same : levels)
    if (same > 0) bits += same * std::log2(count / same);
  bits += static_cast<double>(sample.size) *
          -(kShare * std::log2(kShare) + (1 - kShare) * std::log2(1 - kShare));
  Scratch scratch;
  std::vector<std::byte> bytes;
  encode(sample.indices, sample.marks, sample.size, scratch, bytes);
  EXPECT_LT(8 * static_cast<double>(bytes.size()), 1.012 * bits);
}

// A few elements must not pay for tables: 40 of them, of 10.5 bits each where all is known.
TEST(Rans, TakesFewBytesForFewElements) {
  Random random = stream(2);
  Sample sample;
  sample.size = 10000;
  for (std::uint32_t i = 0; i < 40; ++i) {
    sample.indices.push_back(250 * i + random.below(250));
    sample.marks.push_back(random.below(4));
  }
  Scratch scratch;
  std::vector<std::byte> bytes;
  encode(sample.indices, sample.marks, sample.size, scratch, bytes);
  EXPECT_LE(bytes.size(), 64u);
}

// Seen to fail with each of the checks at the end of a message taken out.
TEST(Rans, RefusesWhatItDoesNotWrite) {
  Random random = stream(3);
  for (const std::size_t count : {50u, 5000u}) {
    Sample sample;
    sample.size = 10 * count + 2;
    for (std::uint32_t i = 0; i < count; ++i) {
      sample.indices.push_back(10 * i + random.below(10));
      sample.marks.push_back(random.below(8));
    }
    sample.indices.back() = static_cast<std::uint32_t>(10 * count + 1);
    Scratch scratch;
    std::vector<std::byte> bytes;
    const unsigned state_bytes = encode(sample.indices, sample.marks, sample.size, scratch, bytes);
    Elements elements;
    const auto refused = [&](std::span<const std::byte> from, std::size_t n, std::size_t size) {
      return !decode(from, {n, size, true, state_bytes}, elements).ok();
    };
    EXPECT_FALSE(refused(bytes, count, sample.size));
    EXPECT_TRUE(refused(bytes, count, sample.size - 1)) << "an index past the end";
    EXPECT_TRUE(refused(bytes, count - 1, sample.size)) << "too few elements";
    EXPECT_TRUE(refused(bytes, count + 1, sample.size)) << "too many elements";
    EXPECT_TRUE(refused(std::span(bytes).first(bytes.size() - 1), count, sample.size));
    EXPECT_TRUE(refused(std::span(bytes).first(3), count, sample.size)) << "half a state";
    EXPECT_TRUE(refused({}, count, sample.size));
    bytes.resize(bytes.size() + 4);
    EXPECT_TRUE(refused(bytes, count, sample.size)) << "a word over";
    EXPECT_TRUE(refused(bytes, 1u << 31, kSizeMax)) << "more than the bytes can hold";
    EXPECT_LT(elements.indices.capacity(), 1u << 20) << "memory for these";
    sample.marks[7] = 2 * (kLevelMax + 1);
    bytes.clear();
    encode(sample.indices, sample.marks, sample.size, scratch, bytes);
    EXPECT_TRUE(refused(bytes, count, sample.size)) << "a level over the largest";
  }
}

}  // namespace
}  // namespace kimesh::rans::rans_test
