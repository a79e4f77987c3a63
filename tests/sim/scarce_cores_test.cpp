// Messages whose time is not the wire's: receivers wait for a core, or links are long. Budgets
// still follow what links carry. All in virtual time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/compress/codecs.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test::scarce_cores_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kDimension = 40'000;
constexpr std::size_t kNodes = 4;
constexpr double kDenseMessage = 4.0 * kDimension / kNodes;
constexpr Round kRounds = 80, kLearning = 40;

MeshSpec ring(double bits_per_s, Duration round_time, std::uint64_t seed) {
  MeshSpec spec;
  spec.seed = seed;
  spec.nodes = kNodes;
  spec.dimension = kDimension;
  spec.rate_bits_per_s = bits_per_s;
  spec.core.stop_rounds = kRounds;
  spec.core.policy = {policy_options("kimad"), make_codec("topk"), round_time};
  return spec;
}

struct Figures {
  double message_bytes = 0;  // mean
  double round_s = 0;        // median
  double bits_per_s = 0;     // what the slowest link is believed to carry at the end
  bool lower_bound = false;  // and whether that is said to be a bound
};

// Of all nodes, once budgets had time to grow.
Figures figures_of(const Mesh& mesh) {
  double bytes = 0, messages = 0;
  std::vector<double> rounds;
  Figures figures;
  for (const auto& reports : mesh.reports)
    for (const RoundReport& report : reports) {
      if (report.round < kLearning || report.round + 2 >= kRounds) continue;
      rounds.push_back(to_seconds(report.ended - report.begun));
      for (const LinkReport& link : report.links) {
        bytes += static_cast<double>(link.bytes);
        messages += 2 * (kNodes - 1);
        const double bits = 8 * link.bytes_per_s;
        if (figures.bits_per_s > 0 && bits >= figures.bits_per_s) continue;
        figures.bits_per_s = bits;
        figures.lower_bound = link.lower_bound;
      }
    }
  std::ranges::nth_element(rounds, rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2));
  figures.round_s = rounds[rounds.size() / 2];
  figures.message_bytes = bytes / messages;
  return figures;
}

Figures run(const MeshSpec& spec, const SimulatedCosts& costs) {
  Mesh mesh(spec);
  mesh.setup.costs = costs;
  mesh.run();
  EXPECT_TRUE(mesh.done()) << mesh.ends();
  return figures_of(mesh);
}

// Messages are read up to 8 ms late, in rounds of 18 ms that hold six of them one after another.
// Seen to fail with 0.01 of the dense size where late messages halved what was proven, and where
// bytes over such a time counted as a rate.
TEST(ScarceCores, ReceiversThatWaitDoNotMakeAFastLinkSlow) {
  for (const double chance : {0.0, 0.3, 0.6})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SimulatedCosts costs;
      costs.gradient = milliseconds(1);
      costs.wait_chance = chance;
      costs.wait = milliseconds(8);
      costs.seed = seed;
      const Figures figures = run(ring(1e9, milliseconds(18), seed), costs);
      EXPECT_GE(figures.message_bytes, 0.5 * kDenseMessage)
          << fmt::format("waits {}, seed {}", chance, seed);
    }
}

// Some wait between their first and their second half, which looks like a slow link's tail. Seen to
// fail with 0.08 of the dense size where two such messages of any kind in a row, or one beside a
// message that was all late, counted in full; and with 0.33 and 0.23 of it for two seeds where each
// message told of one wait as if it had waited by itself.
TEST(ScarceCores, ReceiversThatWaitInTheMiddleOfAMessageDoNotMakeAFastLinkSlow) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimulatedCosts costs;
    costs.gradient = milliseconds(1);
    costs.wait_chance = 0.3;
    costs.wait = milliseconds(8);
    costs.split_share = 0.25;
    costs.seed = seed;
    const Figures figures = run(ring(1e9, milliseconds(18), seed), costs);
    EXPECT_GE(figures.message_bytes, 0.5 * kDenseMessage) << "seed " << seed;
  }
}

// The same on links of which a round of 60 ms carries messages of about a tenth of the dense size.
// Waiting takes a part of each round away, and no more.
TEST(ScarceCores, ReceiversThatWaitLeaveASlowLinkItsBytes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimulatedCosts costs;
    costs.gradient = milliseconds(1);
    const Figures alone = run(ring(4e6, milliseconds(60), seed), costs);
    costs.wait_chance = 0.3;
    costs.wait = milliseconds(8);
    costs.seed = seed;
    const Figures waits = run(ring(4e6, milliseconds(60), seed), costs);
    EXPECT_GE(waits.message_bytes, 0.6 * alone.message_bytes) << "seed " << seed;
    EXPECT_LE(waits.round_s, 1.35 * alone.round_s) << "seed " << seed;
  }
}

// Seen to fail: noise that was the same for every seed, so that five seeds were one.
TEST(ScarceCores, WaitsDependOnTheSeed) {
  const auto seconds_with = [](std::uint64_t seed) {
    MeshSpec spec = ring(1e9, milliseconds(18), 1);
    spec.core.stop_rounds = 10;
    Mesh mesh(spec);
    mesh.setup.costs.wait_chance = 0.3;
    mesh.setup.costs.wait = milliseconds(8);
    mesh.setup.costs.seed = seed;
    mesh.run();
    EXPECT_TRUE(mesh.done()) << mesh.ends();
    return mesh.simulator->seconds();
  };
  EXPECT_EQ(seconds_with(1), seconds_with(1));
  EXPECT_NE(seconds_with(1), seconds_with(2));
  EXPECT_NE(seconds_with(0), seconds_with(1));
}

// Messages that follow one another while acks are on their way are not sent in a row. Seen to fail
// with 0.04 Mbit/s where each message behind one without an ack counted as if it had waited for it.
TEST(LongLinks, SmallMessagesAreABoundForTheRateAndNoEstimate) {
  MeshSpec spec = ring(10e6, milliseconds(18), 1);
  spec.delay = milliseconds(20);
  const Figures figures = run(spec, {});
  EXPECT_TRUE(figures.lower_bound || figures.bits_per_s > 5e6) << figures.bits_per_s;
}

// Six hops of 20 ms do not fit into 18 ms. Messages that take a tenth more than the links' delay
// hold 2 kB; those of the floor hold a hundredth of that.
TEST(LongLinks, ARoundThatCannotBeShortIsUsed) {
  MeshSpec spec = ring(10e6, milliseconds(18), 1);
  spec.delay = milliseconds(20);
  const Figures figures = run(spec, {});
  EXPECT_GE(figures.message_bytes, 1500);
  EXPECT_LE(figures.round_s, 1.25 * 6 * 0.020);
}

}  // namespace
}  // namespace kimesh::test::scarce_cores_test
