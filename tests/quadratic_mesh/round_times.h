// How long rounds take against what was planned, in virtual time, behind links with token buckets
// and interfaces that links share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kimesh/util/ids.h"

namespace kimesh::test {

struct SlowLinks {
  std::string kind = "ring";
  std::size_t nodes = 4;
  std::vector<NodeIndex> servers{};  // empty: all
  double bits_per_s = 10e6;
  std::size_t bucket_bytes = 0;
  Duration delay{0};
  // All links of a node share these bits and this bucket, each way, in place of a rate of each.
  bool shared = false;
  // Node 1's interface has so many times these bits.
  double node_1_factor = 1;
  Duration round_time{std::chrono::milliseconds(100)};
  Duration gradient{std::chrono::milliseconds(20)};
  // The rate, or that of all interfaces, is so many times itself after two fifths of the planned
  // time.
  double rate_factor = 1;
  // Of the flows that share an interface: SimulatedCosts.
  double unfairness = 0;
  std::uint64_t seed = 1;
  // Busy machines: SimulatedCosts.
  double hiccup_chance = 0;
  Duration hiccup{0};
};

// Rounds of node 0 that are left out at the start: budgets grow into their links.
inline constexpr std::size_t kRoundsOfGrowth = 40;

struct RoundTimes {
  // Of each round, took / plan, the plan being round_time: messages never reach their dense size.
  std::vector<double> over_plan;
  std::size_t changed = 0;  // the first round that began after the rate changed
  // Of the busiest link, or of the interface where links share it: bytes / rate over the time
  // outside gradients.
  double busy = 0;

  [[nodiscard]] double quantile(double share) const;  // without the rounds of growth
  // Rounds after the change until three in a row are within `low` and `high` of the plan.
  [[nodiscard]] std::size_t rounds_until_within(double low, double high) const;
};

// policy: kimad with topk, on a quadratic whose messages are never dense.
[[nodiscard]] RoundTimes round_times(const SlowLinks& links, Round rounds = 120);

}  // namespace kimesh::test
