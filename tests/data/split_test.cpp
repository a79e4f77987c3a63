#include "kimesh/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "tests/data/read_all.h"

namespace kimesh::split_test {
namespace {

using Parts = std::vector<std::vector<std::uint32_t>>;

const SampleClasses& training_digits() {
  static const auto source = std::move(*open_data(*DataOptions{}.kind, 1));
  return source->train();
}

// `kind` as a config writes it.
Parts split(const std::string& kind, std::size_t nodes, std::uint64_t seed = 1) {
  const DataOptions data = data_options("kind: digits, split: " + kind);
  std::vector<double> weights(nodes);
  std::iota(weights.begin(), weights.end(), 1.0);
  return split_data(*data.split, {training_digits(), weights, nodes, seed});
}

// The second draw of dirichlet leaves most nodes nothing.
const std::vector<std::string> kEverySplit = {"even", "weights", "by_label", "{dirichlet: 0.3}",
                                              "{dirichlet: 0.001}"};

TEST(Split, EveryKindIsTestedHere) {
  for (const std::string_view kind : split_kinds().names())
    EXPECT_TRUE(std::ranges::any_of(kEverySplit, [&](const std::string& written) {
      return written.find(kind) != std::string::npos;
    })) << kind;
}

std::array<std::size_t, 10> class_counts(std::span<const std::uint32_t> part) {
  std::array<std::size_t, 10> counts{};
  for (const auto sample : part) ++counts[training_digits().labels[sample]];
  return counts;
}

// Seen to fail: feed_empty without the pop_back; sizes_for without the minimum of one.
TEST(Split, GivesEverySampleToExactlyOneNodeAndEveryNodeSome) {
  for (const std::string& kind : kEverySplit)
    for (const std::size_t nodes : {1, 2, 3, 4, 16, 1000, 1437}) {
      const Parts parts = split(kind, std::min(nodes, training_digits().samples()), 7);
      std::vector<int> owners(training_digits().samples());
      for (const auto& part : parts) {
        EXPECT_FALSE(part.empty()) << nodes << " nodes, " << kind;
        EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
        for (const auto sample : part) ++owners[sample];
      }
      EXPECT_TRUE(std::all_of(owners.begin(), owners.end(), [](int n) { return n == 1; }))
          << nodes << " nodes, " << kind;
    }
}

TEST(Split, IsAFunctionOfTheSeed) {
  for (const std::string& kind : kEverySplit) {
    EXPECT_EQ(split(kind, 4, 1), split(kind, 4, 1));
    EXPECT_NE(split(kind, 4, 1), split(kind, 4, 2));
  }
}

// Seen to fail: cutting the sorted samples instead of dealing them.
TEST(EvenSplit, GivesEveryNodeTheSameOfEveryClass) {
  for (const std::size_t nodes : {2, 3, 4, 7, 16}) {
    const Parts parts = split("even", nodes);
    const auto [smallest, largest] =
        std::minmax_element(parts.begin(), parts.end(),
                            [](const auto& a, const auto& b) { return a.size() < b.size(); });
    EXPECT_LE(largest->size() - smallest->size(), 1u);
    for (std::size_t c = 0; c < 10; ++c) {
      std::vector<std::size_t> counts;
      for (const auto& part : parts) counts.push_back(class_counts(part)[c]);
      EXPECT_LE(*std::ranges::max_element(counts) - *std::ranges::min_element(counts), 2u)
          << nodes << " nodes, class " << c;
    }
  }
}

// Seen to fail: reading equal weights.
TEST(WeightsSplit, GivesSizesInProportion) {
  const Parts parts = split("weights", 4);  // weights 1, 2, 3, 4
  const auto total = static_cast<double>(training_digits().samples());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(parts[i].size()), total * static_cast<double>(i + 1) / 10, 1.0);
    for (const auto count : class_counts(parts[i]))
      EXPECT_NEAR(static_cast<double>(count), static_cast<double>(parts[i].size()) / 10, 3.0);
  }
}

// The largest class share of a node: 0.1 where all are alike, near 1 where a class is all it has.
double mean_skew(const Parts& parts) {
  double sum = 0;
  for (const auto& part : parts) {
    const auto counts = class_counts(part);
    sum +=
        static_cast<double>(*std::ranges::max_element(counts)) / static_cast<double>(part.size());
  }
  return sum / static_cast<double>(parts.size());
}

TEST(DirichletSplit, IsMoreSkewedTheSmallerTheConcentration) {
  EXPECT_LT(mean_skew(split("{dirichlet: 1000}", 4)), 0.13);
  EXPECT_GT(mean_skew(split("{dirichlet: 0.3}", 4)), 0.2);
  EXPECT_GT(mean_skew(split("{dirichlet: 0.01}", 4)), 0.4);
}

// Seen to fail with one draw for all classes, which leaves every node the same mixture.
TEST(DirichletSplit, DrawsEveryClassByItself) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Parts parts = split("{dirichlet: 0.3}", 4, seed);
    std::set<std::size_t> richest;  // node that has most of a class
    for (std::size_t c = 0; c < 10; ++c)
      richest.insert(static_cast<std::size_t>(
          std::ranges::max_element(parts, {},
                                   [&](const auto& part) { return class_counts(part)[c]; }) -
          parts.begin()));
    EXPECT_GE(richest.size(), 2u) << "seed " << seed;
  }
}

// Shares are nearly equal here, so that only the order tells two seeds apart. Seen to fail with an
// order that is the same for all seeds.
TEST(DirichletSplit, DealsTheSamplesOfAClassInAnOrderOfTheSeed) {
  const auto one = split("{dirichlet: 1000}", 2, 1)[0], other = split("{dirichlet: 1000}", 2, 2)[0];
  std::vector<std::uint32_t> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  EXPECT_NEAR(static_cast<double>(both.size()), static_cast<double>(one.size()) / 2,
              static_cast<double>(one.size()) / 8);
}

// A node scores at most the share of test samples whose class it has seen: with 4 nodes under 0.6.
// Seen to fail: the even split in its place.
TEST(ByLabelSplit, LetsNoNodeOfFourSeeMoreThanFourClasses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const auto& part : split("by_label", 4, seed)) {
      const auto counts = class_counts(part);
      EXPECT_LE(std::ranges::count_if(counts, [](auto n) { return n > 0; }), 4) << "seed " << seed;
      EXPECT_NEAR(static_cast<double>(part.size()),
                  static_cast<double>(training_digits().samples()) / 4, 1.0);
    }
}

// Seen to fail: a shuffled text.
TEST(ByLabelSplit, LeavesEveryNodeAStretchOfAText) {
  const SampleClasses text{std::vector<std::uint16_t>(103), 1};
  const auto kind = split_kinds().make("by_label");
  std::uint32_t next = 0;
  for (const auto& part : split_data(*kind, {text, {}, 4, 7})) {
    EXPECT_NEAR(static_cast<double>(part.size()), 103.0 / 4, 1.0);
    for (const std::uint32_t sample : part) EXPECT_EQ(sample, next++);
  }
  EXPECT_EQ(next, 103u);
}

TEST(Split, IsEvenWhereNothingIsSaid) {
  EXPECT_EQ(data_options("kind: digits").split->kind_name(), "even");
}

// Seen to fail: an order that is the same for all seeds.
TEST(TestPart, IsAFunctionOfTheSeed) {
  const auto source = std::move(*open_data(*DataOptions{}.kind, 1));
  EXPECT_EQ(test_part(source->test(), 1, 4, 1), test_part(source->test(), 1, 4, 1));
  EXPECT_NE(test_part(source->test(), 1, 4, 1), test_part(source->test(), 1, 4, 2));
}

// Seen to fail: starting every node's walk at sample 0.
TEST(TestPart, PartsAreStratifiedAndTogetherTheWholeTestSet) {
  const auto source = std::move(*open_data(*DataOptions{}.kind, 1));
  const SampleClasses& test = source->test();
  for (const std::size_t nodes : {1, 3, 4, 400}) {
    std::vector<int> seen(test.samples());
    for (std::size_t node = 0; node < nodes; ++node) {
      const auto part = test_part(test, static_cast<NodeIndex>(node), nodes, 1);
      std::array<double, 10> counts{};
      for (const auto sample : part) {
        ++seen[sample];
        ++counts[test.labels[sample]];
      }
      for (const double count : counts)
        EXPECT_NEAR(count, static_cast<double>(part.size()) / 10, 2.0);
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

// Seen to fail: a fresh permutation for every round.
TEST(Batches, VisitEverySampleOncePerEpoch) {
  std::vector<std::uint32_t> part(103);
  std::iota(part.begin(), part.end(), 1000u);
  std::vector<std::uint32_t> walk;
  for (Round round = 0; round < 103; ++round)
    for (const auto sample : batch_samples(part, 8, round, 2, 9)) walk.push_back(sample);
  for (std::size_t epoch = 0; epoch < 8; ++epoch) {
    const auto begin = walk.begin() + static_cast<std::ptrdiff_t>(epoch * part.size());
    EXPECT_EQ(std::set(begin, begin + 103).size(), part.size()) << "epoch " << epoch;
  }
  EXPECT_FALSE(std::equal(walk.begin(), walk.begin() + 103, walk.begin() + 103));
}

// Seen to fail: a permutation drawn for each batch, and one kept beyond its epoch.
TEST(Batches, DrawOnePermutationAnEpoch) {
  std::vector<std::uint32_t> part(103);
  std::iota(part.begin(), part.end(), 1000u);
  Batches batches(part, 2, 9);
  const auto is_that_alone = [&](std::uint64_t number) {
    return std::ranges::equal(batches.samples(8, number), batch_samples(part, 8, number, 2, 9));
  };
  for (std::uint64_t number = 0; number < 26; ++number) EXPECT_TRUE(is_that_alone(number));
  EXPECT_EQ(batches.drawn(), 3u) << "26 batches of 8 end in the third epoch";
  for (const std::uint64_t number : {40u, 12u, 0u, 0xffffffffu}) EXPECT_TRUE(is_that_alone(number));
}

// Worked out before orders were kept.
TEST(Batches, AreThoseOfEarlierVersions) {
  const std::vector<std::uint32_t> part{10, 11, 12, 13, 14};
  EXPECT_THAT(batch_samples(part, 3, 0, 1, 7), testing::ElementsAre(10, 11, 13));
  EXPECT_THAT(batch_samples(part, 3, 1, 1, 7), testing::ElementsAre(12, 14, 13));
  EXPECT_THAT(batch_samples(part, 12, 3, 1, 7),
              testing::ElementsAre(13, 12, 11, 10, 11, 12, 14, 13, 10, 14, 10, 13));
}

TEST(Batches, RepeatAPartThatIsSmallerThanTheBatch) {
  const std::vector<std::uint32_t> part{4, 5, 6};
  const auto batch = batch_samples(part, 8, 5, 0, 1);
  EXPECT_EQ(batch.size(), 8u);
  for (const std::uint32_t sample : part) EXPECT_GE(std::ranges::count(batch, sample), 2);
}

TEST(Batches, DifferByNodeRoundAndSeedOnly) {
  std::vector<std::uint32_t> part(500);
  std::iota(part.begin(), part.end(), 0u);
  const auto batch = batch_samples(part, 32, 3, 1, 1);
  EXPECT_EQ(batch, batch_samples(part, 32, 3, 1, 1));
  EXPECT_NE(batch, batch_samples(part, 32, 4, 1, 1));
  EXPECT_NE(batch, batch_samples(part, 32, 3, 2, 1));
  EXPECT_NE(batch, batch_samples(part, 32, 3, 1, 2));
}

// Seen to fail: an end of (round + 1) * batch in 32 bits.
TEST(Batches, ReachTheLastRoundThatCanBeCounted) {
  const std::vector<std::uint32_t> part{1, 2};
  EXPECT_EQ(batch_samples(part, 1024, 0xffffffffu, 0, 1).size(), 1024u);
}

}  // namespace
}  // namespace kimesh::split_test
