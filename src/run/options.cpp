#include "kimesh/run/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/wire/frame.h"

namespace kimesh {
namespace {

constexpr double kBitsPerByte = 8;

// 1 MiB in float32. Shards of 0.5, 2 and 4 MiB did not make an all-reduce of 100 MB faster
// (docs/experiments.md), and each message has a cost of its own.
constexpr double kDenseShardElements = 1 << 18;

PolicySetup policy_setup(const RunConfig& config, std::size_t nodes) {
  const CompressionOptions& compression = config.compression;
  return {compression.policy, compression.codec, config.round_time, static_cast<unsigned>(nodes)};
}

// A program that brings its own loop takes one batch a round unless its config says otherwise.
bool local_steps_vary(const RunConfig& config) {
  return config.compression.chooses_local_steps() && !config.own_objective;
}

// Policy auto knows no link in a run's first rounds: their messages leave nearly everything out,
// and movements of full length would come all at once some rounds later. The transformer then needs
// a fifth more rounds (docs/experiments.md).
OptimizerOptions optimizer_of_vectors(const RunConfig& config) {
  OptimizerOptions optimizer = config.optimizer;
  const CompressionOptions& compression = config.compression;
  if (!optimizer.schedule.warmup && compression.sends_movements() &&
      optimizer.kind->begins_at_full_length() &&
      compression.policy->round_time_use() == RoundTimeUse::kChooses)
    optimizer.schedule.warmup = kOfferEvery;
  return optimizer;
}

}  // namespace

CoreOptions core_options(const RunConfig& config, const TopologyFile& topology, NodeIndex node,
                         double data_weight) {
  const NodeSpec& spec = topology.nodes[node];
  CoreOptions options;
  options.policy = policy_setup(config, topology.nodes.size());
  options.feedback = config.compression.feedback;
  options.gather = config.compression.gather;
  options.one_point = config.takes_one_point();
  options.look_ahead = config.compression.looks_ahead();
  options.overlap = config.compression.overlaps();
  options.local_steps_vary = local_steps_vary(config);
  const auto has_own = [](const NodeSpec& any) { return any.local_steps.has_value(); };
  options.chooses_multiples =
      options.local_steps_vary && std::ranges::none_of(topology.nodes, has_own);
  options.drift = config.optimizer.kind->drift();
  options.overlap_cost = config.optimizer.kind->overlap_cost();
  options.data_weight = data_weight;
  if (const auto cap = spec.sending_cap_bits_per_s())
    options.uplink_bytes_per_s = *cap / kBitsPerByte;
  options.traffic_bytes = spec.traffic_bytes;
  options.stop_rounds = config.stop.rounds;
  options.stop_accuracy = config.stop.accuracy;
  options.stop_loss = config.stop.loss;
  options.stop_time = config.stop.time;
  options.evaluate_every = config.evaluate_every;
  options.has_test_set = !config.quadratic;
  options.digest_every = config.compression.digest_every;
  options.dead_after = topology.dead_after;
  options.first_gradient = topology.first_gradient;
  const CheckpointKeys& checkpoint = config.checkpoint;
  if (checkpoint.keep > 0) {
    options.checkpoints.every_rounds = checkpoint.every_rounds;
    if (!checkpoint.every_rounds) options.checkpoints.every = checkpoint.every;
  }
  return options;
}

std::vector<unsigned> local_steps(const RunConfig& config, const TopologyFile& topology) {
  std::vector<unsigned> steps;
  for (const NodeSpec& node : topology.nodes)
    steps.push_back(node.local_steps.value_or(config.compression.local_steps.value_or(1)));
  return steps;
}

std::optional<std::size_t> shard_elements_max(const RunConfig& config, double scale) {
  if (!config.compression.policy->sends_everything()) return std::nullopt;
  return static_cast<std::size_t>(std::max(1.0, std::ceil(kDenseShardElements * scale)));
}

VectorsOptions vectors_options(const RunConfig& config, const TopologyFile& topology,
                               NodeIndex node, std::span<const double> weights) {
  VectorsOptions options;
  options.optimizer = optimizer_of_vectors(config);
  options.data_weight = weights[node];
  options.local_steps = local_steps_of(node, local_steps(config, topology), weights);
  options.keeps_estimates = !config.compression.policy->sends_everything();
  options.feedback = config.compression.feedback;
  options.gather = config.compression.gather;
  options.one_point = config.takes_one_point();
  options.looks_ahead = config.compression.looks_ahead() != Use::kNever;
  options.local_steps_vary = local_steps_vary(config);
  return options;
}

SimulatedNode simulated_node(const RunConfig& config, const TopologyFile& topology, NodeIndex node,
                             std::span<const double> weights,
                             std::unique_ptr<Objective> objective) {
  const NodeSpec& spec = topology.nodes[node];
  return {std::move(objective), core_options(config, topology, node, weights[node]),
          vectors_options(config, topology, node, weights), spec.sending_cap_bits_per_s(),
          spec.downlink_bits_per_s};
}

std::vector<LinkSpec> simulated_links(const TopologyFile& topology, const Plan& plan) {
  std::vector<LinkSpec> links;
  for (const Link& link : plan.links) links.push_back(topology.link(link.from, link.to));
  return links;
}

// A run still sends this many bytes after its end is asked for, so that it can end in order. A
// smaller limit would be exceeded.
Status check_traffic(const RunConfig& config, const TopologyFile& topology, const Plan& plan) {
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
    const NodeSpec& spec = topology.nodes[node];
    if (!spec.traffic_bytes) continue;
    CoreOptions options = core_options(config, topology, node, 1);
    options.message_overhead_bytes = message_bytes(0, 0);
    options.chunk_overhead_bytes = wire_bytes(0, 1);
    const std::uint64_t reserve = traffic_reserve_bytes(plan, node, options);
    if (*spec.traffic_bytes > reserve) continue;
    constexpr double kMegabyte = 1e6;
    return Error{ErrorCode::kUserInput,
                 fmt::format("{}: node {} may send {:.1f} MB, and {:.1f} MB "
                             "are kept for four rounds of dense messages, so that the run can "
                             "end in order; write a larger traffic",
                             topology.places.line("nodes." + spec.name), spec.name,
                             static_cast<double>(*spec.traffic_bytes) / kMegabyte,
                             static_cast<double>(reserve) / kMegabyte)};
  }
  return ok_status();
}

}  // namespace kimesh
