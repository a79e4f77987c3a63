// Kimad and the estimator together: each message is sized by what the ones before it told.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "kimesh/compress/codecs.h"
#include "kimesh/policy/policy_options.h"
#include "tests/bandwidth/emulated_link.h"

namespace kimesh::closed_loop_test {
namespace {

struct Case {
  std::string name;
  double mbit, rtt_s;
  int round_ms;
  std::size_t elements;
};
constexpr unsigned kHops = 6;
constexpr double kBytesPerMbit = 1e6 / 8;

struct Loop {
  EmulatedLink link;
  LinkEstimator estimator;
  std::unique_ptr<Policy> policy;
  MessageContext message;

  Loop(const Case& c, std::uint64_t seed) : link(seed) {
    link.bytes_per_s = c.mbit * kBytesPerMbit;
    link.rtt_s = c.rtt_s;
    link.hiccup_s = 0.002;
    policy = make_policy(
        {policy_options("kimad"), make_codec("topk"), std::chrono::milliseconds(c.round_ms)});
    message.elements = c.elements;
    message.round_time = std::chrono::milliseconds(c.round_ms);
    message.overhead_bytes = 100;
    message.slots = message.hops = kHops;
  }
  // Seconds that the next message took.
  double next() {
    message.link = estimator.estimate();
    const Choice choice = policy->choose(message);
    const LinkSample sample =
        link.send(bytes_of(choice.setting, message.elements) + message.overhead_bytes);
    estimator.add(sample);
    message.proven_bytes = sample.bytes;
    message.largest_bytes = std::max(message.largest_bytes, sample.bytes);
    message.unfilled_messages =
        estimator.estimate().lower_bound ? message.unfilled_messages + 1 : 0;
    return to_seconds(sample.elapsed);
  }
};

const std::vector<Case> kCases{{"a slow link", 0.5, 0.0003, 100, 50'000},
                               {"hops of 4 ms, too short for a tail", 2, 0.0003, 25, 20'000},
                               {"hops of 4 ms, 8 chunks", 5, 0.0003, 25, 50'000},
                               {"a long link", 100, 0.04, 1000, 10'000'000},
                               {"mostly fixed cost", 100, 0.04, 300, 2'000'000},
                               {"a fast link", 1000, 0.0002, 1000, 30'000'000}};

// Seen to fail when the budget leaves out the fixed cost.
TEST(ClosedLoop, MessagesTakeTheTimeOfAHop) {
  for (const Case& c : kCases)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(c.name + ", seed " + std::to_string(seed));
      Loop loop(c, seed);
      for (int learning = 0; learning < 15; ++learning) loop.next();
      std::vector<double> times(200);
      for (double& time : times) time = loop.next();
      const double hop_s = c.round_ms * 1e-3 / kHops;
      EXPECT_NEAR(quantile(times, 0.5) / hop_s, 1, 0.06);
      const double mean = std::accumulate(times.begin(), times.end(), 0.0) / 200;
      EXPECT_LE(mean / hop_s, 1.35) << "probes and hiccups included";
    }
}

// Seen to fail without the estimator's resets.
TEST(ClosedLoop, TheThirdMessageAfterAStepIsRightAgain) {
  for (const double factor : {0.25, 4.0})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(std::to_string(factor) + ", seed " + std::to_string(seed));
      const Case c{"", 4, 0.0003, 300, 200'000};
      Loop loop(c, seed);
      loop.link.hiccup_chance = 0;
      for (int settling = 0; settling < 30; ++settling) loop.next();
      loop.link.bytes_per_s *= factor;
      loop.next();
      loop.next();
      EXPECT_NEAR(loop.next() / 0.05, 1, 0.2);
    }
}

}  // namespace
}  // namespace kimesh::closed_loop_test
