#include "tests/quadratic_mesh/round_times.h"

#include <algorithm>
#include <numeric>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/random.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test {
namespace {

constexpr double kBitsPerByte = 8;
// Each element costs topk 8 bytes, and 4 bytes dense: room for twice the planned message.
constexpr double kElementsPerByte = 0.5;

// Rates differ a little from seed to seed, so that no case lives by a coincidence.
double rate_of(const SlowLinks& links) {
  Random random(links.seed, 0, 0, Purpose::kTest);
  return links.bits_per_s * (0.9 + 0.2 * random.uniform());
}

MeshSpec spec_of(const SlowLinks& links, double bits_per_s, Round rounds) {
  MeshSpec spec;
  spec.kind = links.kind;
  spec.nodes = links.nodes;
  spec.servers = links.servers;
  spec.seed = links.seed;
  spec.rate_bits_per_s = bits_per_s;
  spec.delay = links.delay;
  spec.core.stop_rounds = rounds;
  spec.core.policy = {policy_options("kimad"), make_codec("topk"), links.round_time};
  const double largest = std::max(links.rate_factor, 1.0) * bits_per_s / kBitsPerByte *
                         to_seconds(links.round_time - links.gradient) / 2;
  const std::size_t shards = links.servers.empty() ? links.nodes : links.servers.size();
  const double shard = std::max(kElementsPerByte * largest, 1000.0);
  spec.dimension = static_cast<std::uint32_t>(shard * static_cast<double>(shards));
  return spec;
}

}  // namespace

double RoundTimes::quantile(double share) const {
  std::vector<double> sorted(over_plan.begin() + kRoundsOfGrowth, over_plan.end());
  std::ranges::sort(sorted);
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

std::size_t RoundTimes::rounds_until_within(double low, double high) const {
  std::size_t in_a_row = 0;
  for (std::size_t round = changed; round < over_plan.size(); ++round) {
    const bool within = over_plan[round] >= low && over_plan[round] <= high;
    in_a_row = within ? in_a_row + 1 : 0;
    if (in_a_row == 3) return round - 2 - changed;
  }
  return over_plan.size();
}

RoundTimes round_times(const SlowLinks& links, Round rounds) {
  const double bits_per_s = rate_of(links);
  Mesh mesh(spec_of(links, bits_per_s, rounds));
  const double middle_s = 0.4 * rounds * to_seconds(links.round_time);
  for (LinkSpec& link : mesh.setup.links) {
    link.bucket_bytes = links.bucket_bytes;
    if (links.shared) link.rate.reset();
    if (links.shared) continue;
    if (links.rate_factor != 1)
      link.rate =
          RateTrace{{{0, bits_per_s}, {middle_s, links.rate_factor * bits_per_s}, {1e6, 1}}};
  }
  for (SimulatedNode& node : mesh.setup.nodes) {
    if (!links.shared) break;
    node.uplink_bits_per_s = node.downlink_bits_per_s = bits_per_s;
    node.interface_bucket_bytes = links.bucket_bytes;
  }
  if (links.shared) {
    SimulatedNode& node = mesh.setup.nodes[1];
    node.uplink_bits_per_s = node.downlink_bits_per_s = links.node_1_factor * bits_per_s;
  }
  if (links.shared && links.rate_factor != 1)
    for (NodeIndex n = 0; n < mesh.setup.nodes.size(); ++n) {
      Fault change{Fault::Kind::kCapacity, middle_s};
      change.node = n;
      change.bits_per_s = links.rate_factor * *mesh.setup.nodes[n].uplink_bits_per_s;
      mesh.setup.faults.push_back(change);
    }
  mesh.setup.costs.gradient = links.gradient;
  mesh.setup.costs.hiccup_chance = links.hiccup_chance;
  mesh.setup.costs.hiccup = links.hiccup;
  mesh.setup.costs.unfairness = links.unfairness;
  mesh.setup.costs.seed = links.seed;
  mesh.run();
  RoundTimes times;
  std::vector<double> bytes(mesh.plan.links.size());
  double outside_s = 0;
  for (const RoundReport& report : mesh.reports[0]) {
    if (report.confirmation) continue;
    const double took = to_seconds(report.ended - report.begun);
    if (to_seconds(report.begun - TimePoint{}) < middle_s) ++times.changed;
    times.over_plan.push_back(took / to_seconds(links.round_time));
    if (times.over_plan.size() <= kRoundsOfGrowth) continue;
    outside_s += took - to_seconds(links.gradient);
    for (const LinkReport& link : report.links) bytes[link.link] += static_cast<double>(link.bytes);
  }
  if (!times.over_plan.empty()) times.over_plan.pop_back();  // the closing round is dense
  const double most =
      links.shared ? std::accumulate(bytes.begin(), bytes.end(), 0.0) : std::ranges::max(bytes);
  times.busy = most * kBitsPerByte / bits_per_s / outside_s;
  return times;
}

}  // namespace kimesh::test
