#include "kimesh/run/options.h"

#include <fmt/format.h>

#include "kimesh/wire/frame.h"

namespace kimesh {
namespace {

constexpr double kBitsPerByte = 8;

PolicyOptions::Kind policy_kind(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kNone:
      break;
    case PolicyKind::kFixed:
      return PolicyOptions::Kind::kFixed;
    case PolicyKind::kKimad:
      return PolicyOptions::Kind::kKimad;
    case PolicyKind::kKimadPlus:
      return PolicyOptions::Kind::kKimadPlus;
    case PolicyKind::kGravac:
      return PolicyOptions::Kind::kGravac;
  }
  return PolicyOptions::Kind::kNone;
}

GravacOptions gravac_options(const GravacConfig& config) {
  GravacOptions gravac;
  gravac.theta_min = config.theta_min;
  gravac.theta_max = config.theta_max;
  gravac.epsilon = config.epsilon;
  gravac.omega = config.omega;
  gravac.window = config.window;
  gravac.scaling = config.scaling == ScalingKind::kExponential
                       ? GravacOptions::Scaling::kExponential
                       : GravacOptions::Scaling::kGeometric;
  gravac.scope =
      config.scope == ScopeKind::kNode ? GravacOptions::Scope::kNode : GravacOptions::Scope::kLink;
  return gravac;
}

Compressor compressor_of(CompressorKind kind) {
  switch (kind) {
    case CompressorKind::kIdentity:
      break;
    case CompressorKind::kTopk:
      return Compressor::kTopk;
    case CompressorKind::kThreshold:
      return Compressor::kThreshold;
    case CompressorKind::kRandk:
      return Compressor::kRandk;
    case CompressorKind::kDgc:
      return Compressor::kDgc;
    case CompressorKind::kRedsync:
      return Compressor::kRedsync;
    case CompressorKind::kSign:
      return Compressor::kSign;
    case CompressorKind::kInt8:
      return Compressor::kInt8;
    case CompressorKind::kInt4:
      return Compressor::kInt4;
    case CompressorKind::kDzq:
      return Compressor::kDzq;
  }
  return Compressor::kIdentity;
}

ValueFormat values_of(ValuesKind kind) {
  switch (kind) {
    case ValuesKind::kFloat32:
      break;
    case ValuesKind::kFloat16:
      return ValueFormat::kFloat16;
    case ValuesKind::kBfloat16:
      return ValueFormat::kBfloat16;
    case ValuesKind::kInt4:
      return ValueFormat::kInt4;
  }
  return ValueFormat::kFloat32;
}

IndexFormat indices_of(IndicesKind kind) {
  switch (kind) {
    case IndicesKind::kRaw:
      break;
    case IndicesKind::kPacked:
      return IndexFormat::kPacked;
    case IndicesKind::kCoded:
      return IndexFormat::kCoded;
  }
  return IndexFormat::kRaw;
}

Setting style_of(const CompressorConfig& config) {
  Setting style{compressor_of(config.kind)};
  style.values = values_of(config.values);
  style.indices = indices_of(config.indices);
  style.threshold = static_cast<float>(config.threshold.value_or(0));
  style.step = static_cast<float>(config.step.value_or(0));
  style.scaled = config.scaled;
  return style;
}

PolicyOptions policy_options(const RunConfig& config, std::size_t nodes) {
  const CompressionConfig& compression = config.compression;
  PolicyOptions policy;
  policy.kind = policy_kind(compression.policy);
  policy.style = style_of(compression.compressor);
  policy.ratio = compression.compressor.ratio;
  policy.bits = compression.compressor.bits;
  policy.round_time = config.round_time;
  policy.allocator = compression.allocator == AllocatorKind::kThreshold
                         ? PolicyOptions::Allocator::kThreshold
                         : PolicyOptions::Allocator::kKnapsack;
  policy.knapsack_ratios = compression.ratios;
  policy.knapsack_bins = compression.bins;
  policy.gravac = gravac_options(compression.gravac);
  policy.nodes = static_cast<unsigned>(nodes);
  return policy;
}

Feedback feedback_of(FeedbackKind kind) {
  switch (kind) {
    case FeedbackKind::kEf21:
      break;
    case FeedbackKind::kEf14:
      return Feedback::kEf14;
    case FeedbackKind::kNone:
      return Feedback::kNone;
  }
  return Feedback::kEf21;
}

}  // namespace

CoreOptions core_options(const RunConfig& config, const TopologyFile& topology, NodeIndex node,
                         double data_weight) {
  const NodeSpec& spec = topology.nodes[node];
  CoreOptions options;
  options.policy = policy_options(config, topology.nodes.size());
  options.feedback = feedback_of(config.compression.feedback);
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
  return options;
}

VectorsOptions vectors_options(const RunConfig& config, double data_weight) {
  VectorsOptions options;
  options.optimizer = config.optimizer;
  options.data_weight = data_weight;
  options.keeps_estimates = config.compression.policy != PolicyKind::kNone;
  return options;
}

SimulatedNode simulated_node(const RunConfig& config, const TopologyFile& topology, NodeIndex node,
                             double data_weight, std::unique_ptr<Objective> objective) {
  const NodeSpec& spec = topology.nodes[node];
  return {std::move(objective), core_options(config, topology, node, data_weight),
          vectors_options(config, data_weight), spec.sending_cap_bits_per_s(),
          spec.downlink_bits_per_s};
}

std::vector<LinkSpec> simulated_links(const TopologyFile& topology, const Plan& plan) {
  std::vector<LinkSpec> links;
  for (const Link& link : plan.links) links.push_back(topology.link(link.from, link.to));
  return links;
}

// A run that ends in order takes so much more once its end is asked for; a limit below that would
// be passed.
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
    return Error{
        ErrorCode::kUserInput,
        fmt::format("{}: node {} may send {:.1f} MB, and {:.1f} MB "
                    "are kept for four rounds of dense messages, so that the run can "
                    "end in order; write a larger traffic",
                    spec.line, spec.name, static_cast<double>(*spec.traffic_bytes) / kMegabyte,
                    static_cast<double>(reserve) / kMegabyte)};
  }
  return ok_status();
}

}  // namespace kimesh
