#include "kimesh/bandwidth/estimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/bandwidth/emulated_link.h"

namespace kimesh::estimator_test {
namespace {

constexpr double kMbit = 1e6 / 8;  // bytes per second
constexpr int kSeeds = 30, kMessages = 60, kLearning = 5;

struct Case {
  std::string name;
  double bytes_per_s;
  std::size_t bytes;
  double rtt_s = 0, bucket_bytes = 0;
  double vary = 0;  // sizes differ by up to this share, as budgets do
  bool coalesced = true;
};

struct Errors {
  std::vector<double> rate, time;  // relative, after each message; time: of the next one
};

Errors errors_of(const Case& c) {
  Errors errors;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EmulatedLink link(seed);
    link.bytes_per_s = c.bytes_per_s;
    link.rtt_s = c.rtt_s;
    link.bucket_bytes = c.bucket_bytes;
    link.coalesced = c.coalesced;
    LinkEstimator estimator;
    for (int i = 0; i < kMessages; ++i) {
      const double size =
          static_cast<double>(c.bytes) * (1 + c.vary * (2 * link.random.uniform() - 1));
      const auto bytes = static_cast<std::size_t>(size);
      const double predicted = to_seconds(estimator.estimate().time_of(bytes));
      estimator.add(link.send(bytes));
      if (i < kLearning) continue;
      errors.time.push_back(std::abs(predicted / link.ideal_s(bytes) - 1));
      errors.rate.push_back(std::abs(estimator.estimate().bytes_per_s / c.bytes_per_s - 1));
    }
  }
  return errors;
}

// Seen to fail with a filter that takes TCP's segments for chunks (grain 0), and with β = S/T.
TEST(LinkEstimator, KnowsRateAndNextTimeOfBursts) {
  const std::vector<Case> large{{"1 Mbit", kMbit, 1'000'000},
                                {"10 Mbit", 10 * kMbit, 1'000'000},
                                {"100 Mbit", 100 * kMbit, 1'000'000},
                                {"10 Mbit, 40 ms", 10 * kMbit, 1'000'000, 0.04},
                                {"100 Mbit, 40 ms", 100 * kMbit, 1'000'000, 0.04},
                                {"10 Mbit, bucket", 10 * kMbit, 1'000'000, 0, 32'768}};
  for (const Case& c : large) {
    const Errors errors = errors_of(c);
    EXPECT_LE(quantile(errors.rate, 0.5), 0.02) << c.name;
    EXPECT_LE(quantile(errors.rate, 0.95), 0.08) << c.name;
    EXPECT_LE(quantile(errors.time, 0.5), 0.01) << c.name;
    EXPECT_LE(quantile(errors.time, 0.95), 0.04) << c.name;
  }
  const std::vector<Case> small{
      {"50 KB at 10 Mbit", 10 * kMbit, 50'000},
      {"50 KB at 10 Mbit, bucket", 10 * kMbit, 50'000, 0, 3'000, 0.1},
      {"50 KB at 10 Mbit, 40 ms", 10 * kMbit, 50'000, 0.04},
      {"5 KB at 1 Mbit, a segment per chunk", kMbit, 5'000, 0, 0, 0, false},
      {"5 KB at 1 Mbit", kMbit, 5'000, 0, 0, 0.1},
      {"5 KB at 1 Mbit, bucket", kMbit, 5'000, 0, 1'600, 0.1},
      {"5 KB at 1 Mbit, 40 ms", kMbit, 5'000, 0.04, 0, 0.2},
      {"5 KB at 1 Mbit, 40 ms, a segment per chunk", kMbit, 5'000, 0.04, 0, 0, false}};
  for (const Case& c : small) {
    const Errors errors = errors_of(c);
    EXPECT_LE(quantile(errors.rate, 0.5), 0.05) << c.name;
    EXPECT_LE(quantile(errors.rate, 0.95), 0.15) << c.name;
    EXPECT_LE(quantile(errors.time, 0.5), 0.02) << c.name;
    EXPECT_LE(quantile(errors.time, 0.95), 0.06) << c.name;
  }
}

LinkSample clean(std::size_t bytes, double bytes_per_s, double fixed_s = 0) {
  EmulatedLink link(1);
  link.bytes_per_s = bytes_per_s;
  link.rtt_s = fixed_s;
  link.coalesced = false;
  link.jitter_s = 0;
  link.hiccup_chance = 0;
  return link.send(bytes);
}

LinkEstimator settled(double bytes_per_s, std::size_t bytes, double fixed_s = 0) {
  LinkEstimator estimator;
  for (int i = 0; i < 20; ++i) estimator.add(clean(bytes, bytes_per_s, fixed_s));
  return estimator;
}

std::string case_of(std::size_t bytes, double mbit, double factor, double rtt, std::uint64_t seed) {
  return std::to_string(bytes) + " B, " + std::to_string(mbit) + " Mbit x " +
         std::to_string(factor) + ", rtt " + std::to_string(rtt) + ", seed " + std::to_string(seed);
}

// Seen to fail without the reset on slow times (down) and without the one on two fast times (up).
TEST(LinkEstimator, FollowsAStepOfTheRateWithinTwoMessages) {
  for (const std::size_t bytes : {1'000'000, 50'000, 5'000})
    for (const double mbit : {1.0, 10.0})
      for (const double factor : {0.25, 0.5, 2.0, 4.0})
        for (const double rtt : {0.0, 0.001})
          for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            EmulatedLink link(seed);
            link.hiccup_chance = 0;
            link.coalesced = bytes > 5'000;
            link.rtt_s = rtt;
            link.bytes_per_s = mbit * kMbit;
            LinkEstimator estimator;
            for (int i = 0; i < 20; ++i) estimator.add(link.send(bytes));
            link.bytes_per_s *= factor;
            for (int i = 0; i < 2; ++i) estimator.add(link.send(bytes));
            const std::string what = case_of(bytes, mbit, factor, rtt, seed);
            EXPECT_NEAR(to_seconds(estimator.estimate().time_of(bytes)), link.ideal_s(bytes),
                        0.15 * link.ideal_s(bytes) + 0.5e-3)
                << what;
            if (link.ideal_s(bytes) < 0.01) continue;  // no tail of 2 ms: a hides β
            EXPECT_NEAR(estimator.estimate().bytes_per_s / link.bytes_per_s, 1, 0.2) << what;
          }
}

TEST(LinkEstimator, FollowsAStepThatFallsIntoAMessage) {
  LinkEstimator estimator = settled(10 * kMbit, 1'000'000);
  LinkSample half = clean(1'000'000, 10 * kMbit);
  half.elapsed = half.elapsed / 2 + 2 * half.elapsed;  // its second half at a quarter of the rate
  half.tail_time *= 4;
  estimator.add(half);
  for (int i = 0; i < 2; ++i) estimator.add(clean(1'000'000, 2.5 * kMbit));
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (2.5 * kMbit), 1, 0.05);
}

// Seen to fail when the model from before a reset is forgotten.
TEST(LinkEstimator, ForgetsAnAbsurdSampleWithTheNextGoodOne) {
  for (const double factor : {2.0, 4.0, 100.0}) {
    LinkEstimator estimator = settled(10 * kMbit, 50'000);
    for (const double slower : {factor, std::sqrt(factor)}) {
      LinkSample hiccup = clean(50'000, 10 * kMbit);
      hiccup.elapsed = from_seconds(slower * to_seconds(hiccup.elapsed));
      hiccup.tail_time = hiccup.elapsed;
      estimator.add(hiccup);
    }
    EXPECT_LT(estimator.estimate().bytes_per_s, 9 * kMbit) << "a slow time is believed at once";
    estimator.add(clean(50'000, 10 * kMbit));
    EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.01) << factor;
  }
}

TEST(LinkEstimator, IsNotMovedByOneSampleThatIsTooFast) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  LinkSample odd = clean(50'000, 10 * kMbit);
  odd.elapsed /= 10;
  odd.tail_time /= 10;
  estimator.add(odd);
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.1);
  estimator.add(clean(50'000, 10 * kMbit));
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.1);
}

// A link gets faster long after one message was fast by chance. Seen to fail with a new model of
// that message and the last one.
TEST(LinkEstimator, ForgetsASampleThatWasTooFastLongAgo) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  estimator.add(clean(50'000, 100 * kMbit));
  for (int i = 0; i < 20; ++i) estimator.add(clean(50'000, 10 * kMbit));
  for (int i = 0; i < 2; ++i) estimator.add(clean(50'000, 20 * kMbit));
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (20 * kMbit), 1, 0.1);
}

// Three in a row, the third one by chance. Seen to fail with a model of the third one alone.
TEST(LinkEstimator, IsNotMovedByAThirdSampleThatIsTooFast) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  for (int i = 0; i < 2; ++i) estimator.add(clean(50'000, 20 * kMbit));
  estimator.add(clean(50'000, 200 * kMbit));
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (20 * kMbit), 1, 0.1);
}

// Seen to fail when every lonely fast time was left out: then each 10 KB message is one.
TEST(LinkEstimator, LearnsFromSizesThatAlternate) {
  LinkEstimator estimator;
  for (int i = 0; i < 12; ++i) estimator.add(clean(i % 2 == 0 ? 1'000 : 10'000, 8 * kMbit, 0.03));
  for (const std::size_t bytes : {1'000, 10'000})
    EXPECT_NEAR(to_seconds(estimator.estimate().time_of(bytes)),
                to_seconds(clean(bytes, 8 * kMbit, 0.03).elapsed), 0.002);
}

TEST(LinkEstimator, FollowsARateThatSwings) {
  std::vector<double> errors;
  EmulatedLink link(1);
  LinkEstimator estimator;
  for (int i = 0; i < 300; ++i) {
    link.bytes_per_s = kMbit * (5 + 4 * std::sin(i * 2 * 3.14159265 / 60));
    estimator.add(link.send(100'000));
    errors.push_back(std::abs(estimator.estimate().bytes_per_s / link.bytes_per_s - 1));
  }
  EXPECT_LE(quantile(errors, 0.5), 0.08);
  EXPECT_LE(quantile(errors, 0.95), 0.25);
}

TEST(LinkEstimator, KnowsNothingBeforeTheFirstSample) {
  const LinkEstimate estimate = LinkEstimator().estimate();
  EXPECT_FALSE(estimate.known());
  EXPECT_TRUE(estimate.lower_bound);
  EXPECT_EQ(estimate.time_of(1000), Duration{0});
}

TEST(LinkEstimator, SaysALowerBoundWhileTheFixedCostHidesTheRate) {
  // 16 KB at 100 Mbit and 40 ms: 1.3 of 41.3 ms are transfer.
  const LinkEstimate hidden = settled(100 * kMbit, 16'384, 0.04).estimate();
  EXPECT_TRUE(hidden.lower_bound);
  EXPECT_LE(hidden.bytes_per_s, 100 * kMbit);
  EXPECT_FALSE(settled(100 * kMbit, 1'000'000, 0.04).estimate().lower_bound);
  EXPECT_FALSE(settled(kMbit, 5'000).estimate().lower_bound);
}

// Waiting hides the rate as a fixed cost does, but differs from message to message: two that differ
// in size by chance as their times do tell nothing. Seen to fail with times that scatter by 0.5 ms
// at most, and with a wait that is believed.
TEST(LinkEstimator, SaysALowerBoundWhileWaitsHideTheRate) {
  unsigned bounds = 0, guesses = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 0, 0, Purpose::kTest);
    LinkEstimator estimator;
    for (int i = 0; i < 200; ++i) {
      LinkSample sample;
      sample.bytes = 100 + random.below(600);
      sample.chunks = 1;
      const double wait_s = random.below(2) == 0 ? 0.008 * random.uniform() : 0;
      sample.elapsed = from_seconds(0.0003 + wait_s);
      estimator.add(sample);
      const LinkEstimate estimate = estimator.estimate();
      if (i < 20) continue;
      bounds += estimate.lower_bound ? 1 : 0;
      guesses += estimate.is_a_guess() ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(bounds, all * 99 / 100);
  EXPECT_GE(guesses, all * 8 / 10);
}

// A receiver that reads all chunks at once was late; the link is as it was. Seen to fail.
TEST(LinkEstimator, KeepsItsRateWhenAReceiverReadsLate) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  for (int i = 0; i < 5; ++i) {
    LinkSample late = clean(50'000, 10 * kMbit);
    late.elapsed *= 2;
    late.tail_bytes = 0;
    late.tail_time = Duration{0};
    estimator.add(late);
    EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.25);
  }
}

// Seen to fail where the late message took the model away that the hiccup had set aside.
TEST(LinkEstimator, KeepsItsRateWhereALateMessageFollowsAHiccup) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  LinkSample hiccup = clean(50'000, 10 * kMbit);
  hiccup.elapsed *= 10;
  hiccup.tail_time *= 10;
  estimator.add(hiccup);
  LinkSample late = clean(50'000, 10 * kMbit);
  late.elapsed *= 40;
  late.tail_bytes = 0;
  late.tail_time = Duration{0};
  estimator.add(late);
  estimator.add(clean(50'000, 10 * kMbit));
  EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.05);
}

// One wait, and two messages that were read at its end. Seen to fail where the second one reset the
// model, and where it confirmed that the first one had been right.
TEST(LinkEstimator, CountsAWaitOfTwoMessagesOnce) {
  for (const bool split : {false, true}) {
    LinkEstimator estimator = settled(10 * kMbit, 50'000);
    for (int i = 0; i < 5; ++i) {
      LinkSample waited = clean(50'000, 10 * kMbit);
      waited.elapsed += std::chrono::milliseconds(80);
      waited.tail_time += std::chrono::milliseconds(80);
      LinkSample behind = waited;
      behind.elapsed -= std::chrono::milliseconds(10);
      behind.since_ack = Duration{0};
      behind.tail_bytes = 0;
      behind.tail_time = Duration{0};
      if (!split) {
        waited.tail_bytes = 0;
        waited.tail_time = Duration{0};
      }
      estimator.add(waited);
      estimator.add(behind);
      estimator.add(clean(50'000, 10 * kMbit));
      EXPECT_NEAR(estimator.estimate().bytes_per_s / (10 * kMbit), 1, 0.25) << split << i;
    }
  }
}

// Two chunks have no tail to speak of. Seen to fail when followed messages were fitted with an a.
TEST(LinkEstimator, LearnsFromMessagesTooSmallForATail) {
  LinkEstimator same, different, followed;
  for (int i = 0; i < 12; ++i) {
    same.add(clean(1'200, kMbit, 0.002));
    different.add(clean(800 + 100 * (static_cast<std::size_t>(i) % 5), kMbit, 0.002));
    LinkSample sample = clean(1'200, kMbit);
    sample.followed = i > 0;
    if (i == 0) sample.elapsed += std::chrono::milliseconds(2);
    followed.add(sample);
  }
  EXPECT_TRUE(same.estimate().lower_bound) << "2 of 11.6 ms: nobody can tell";
  EXPECT_LT(same.estimate().bytes_per_s, 1.001 * kMbit);
  EXPECT_GT(same.estimate().bytes_per_s, 0.8 * kMbit);
  EXPECT_NEAR(different.estimate().bytes_per_s / kMbit, 1, 0.1);
  EXPECT_NEAR(to_seconds(different.estimate().fixed_cost), 0.002, 0.001);
  EXPECT_FALSE(followed.estimate().lower_bound);
  EXPECT_NEAR(followed.estimate().bytes_per_s / kMbit, 1, 0.02);
}

// Behind an interface that links share a message waits for those of others, and then comes fast.
// Messages that did not wait, some of which are older than the model, tell that this is no cost of
// its link. Seen to fail where the model alone told the fixed cost.
TEST(LinkEstimator, TakesNoWaitForTheFixedCostOfALink) {
  LinkSample quick;
  quick.bytes = 1'000;
  quick.chunks = 1;
  quick.elapsed = std::chrono::milliseconds(1);
  LinkSample waited;
  waited.bytes = 20'000;
  waited.chunks = 8;
  waited.tail_bytes = 10'000;
  waited.tail_time = std::chrono::milliseconds(5);
  waited.elapsed = std::chrono::milliseconds(500);
  LinkEstimator estimator;
  for (int i = 0; i < 5; ++i) estimator.add(quick);
  for (int i = 0; i < 5; ++i) {
    estimator.add(waited);
    EXPECT_LE(estimator.estimate().fixed_cost, quick.elapsed);
  }
  for (int i = 0; i < 20; ++i) estimator.add(waited);
  EXPECT_GT(estimator.estimate().fixed_cost, std::chrono::milliseconds(300)) << "a long way";
}

TEST(LinkEstimator, LeavesOutWhatTheSenderHeldUpAndWhatIsEmpty) {
  LinkEstimator estimator = settled(10 * kMbit, 50'000);
  const double before = estimator.estimate().bytes_per_s;
  LinkSample sample = clean(50'000, kMbit);
  sample.sender_limited = true;
  for (int i = 0; i < 5; ++i) estimator.add(sample);
  estimator.add(LinkSample{});
  EXPECT_EQ(estimator.estimate().bytes_per_s, before);
}

TEST(LinkEstimator, StaysFiniteOnAnySample) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed, 0, 0, Purpose::kTest);
    const auto draw = [&](double most) { return std::pow(most, random.uniform()); };
    LinkEstimator estimator;
    for (int i = 0; i < 100; ++i) {
      LinkSample sample;
      sample.bytes = static_cast<std::size_t>(draw(1e9));
      sample.elapsed = Duration(static_cast<std::int64_t>(draw(1e12)));
      sample.followed = random.below(2) == 0;
      sample.chunks = static_cast<std::uint16_t>(random.below(20));
      sample.tail_bytes = static_cast<std::size_t>(draw(1e9)) - 1;
      sample.tail_time = Duration(static_cast<std::int64_t>(draw(1e12)) - 1);
      sample.round_trip = Duration(static_cast<std::int64_t>(draw(1e12)) - 1);
      estimator.add(sample);
      const LinkEstimate estimate = estimator.estimate();
      ASSERT_TRUE(std::isfinite(estimate.bytes_per_s) && estimate.bytes_per_s > 0)
          << "seed " << seed;
      ASSERT_TRUE(estimate.relative_error > 0 && estimate.relative_error <= 1) << "seed " << seed;
      ASSERT_GE(estimate.time_of(sample.bytes), Duration{0}) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kimesh::estimator_test
