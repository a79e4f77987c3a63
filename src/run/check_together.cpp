#include "kimesh/run/check_together.h"

#include <fmt/format.h>

#include <algorithm>

#include "config_reader.h"
#include "kimesh/config/complaints.h"

namespace kimesh {
namespace {

// Over several hops, what one node left out is summed, compressed and left out again by the next.
void check_compressor(const RunConfig& config, const TopologyFile& topology,
                      Complaints& complaints) {
  const CompressionOptions& compression = config.compression;
  if (topology.is_one_hop() || compression.policy->sends_everything()) return;
  if (!compression.codec->traits().conservative)
    complaints.add(config.places.line("compression.compressor"),
                   fmt::format("this compressor is not conservative, and the errors of the hops "
                               "of kind: {} would grow",
                               topology.kind->kind_name()),
                   "Write compressor: topk, or use a topology of kind: parameter_server");
  if (compression.feedback == Feedback::kEf14)
    complaints.add(config.places.line("compression.feedback"),
                   fmt::format("feedback: ef14 is for one hop, and kind: {} has several",
                               topology.kind->kind_name()),
                   "Write feedback: ef21, or use a topology of kind: parameter_server");
}

void check_round_time(const RunConfig& config, Complaints& complaints) {
  const PolicyOptions& policy = *config.compression.policy;
  if (!policy.needs_round_time() || config.round_time) return;
  complaints.add(config.places.line("compression.policy"),
                 fmt::format("policy: {} sizes messages to fit a round, and round_time is missing",
                             policy.kind_name()),
                 "Add round_time: with the time that a round may take, such as "
                 "round_time: 25ms");
}

void check_weights(const RunConfig& config, const TopologyFile& topology, Complaints& complaints) {
  const auto without = std::find_if(topology.nodes.begin(), topology.nodes.end(),
                                    [](const NodeSpec& node) { return !node.data_weight; });
  if (config.quadratic || config.data.split != SplitKind::kWeights ||
      without == topology.nodes.end())
    return;
  complaints.add(config.data.split_line,
                 fmt::format("data.split is weights, but node {} has no data_weight in the "
                             "topology file",
                             without->name),
                 "Give every node there a data_weight, or write split: even");
}

}  // namespace

std::vector<Problem> check_together(const RunConfig& config, const std::string& config_path,
                                    const TopologyFile& topology) {
  Complaints complaints(config_path);
  check_round_time(config, complaints);
  check_compressor(config, topology, complaints);
  check_weights(config, topology, complaints);
  check_theory(config, topology, complaints);
  return complaints.take();
}

}  // namespace kimesh
