#include "kimesh/run/check_together.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/config/findings.h"
#include "theory.h"

namespace kimesh {
namespace {

// Over several hops, what one node left out is summed, compressed and left out again by the next:
// in a reduce with estimates, and in a gather that every hop compresses anew.
void check_compressor(const RunConfig& config, const TopologyFile& topology, Findings& findings) {
  const CompressionOptions& compression = config.compression;
  if (topology.is_one_hop() || compression.policy->sends_everything()) return;
  const bool compresses_again =
      compression.feedback != Feedback::kEf14 || compression.gather != Gather::kShared;
  if (!compresses_again || compression.codec->traits().conservative) return;
  findings.add("compression.compressor",
               fmt::format("this compressor is not conservative, and the errors of the hops "
                           "of kind: {} would grow",
                           topology.kind->kind_name()),
               fmt::format("Write compressor: topk, or feedback: ef14 with gather: shared, or use "
                           "a topology of kind: {}",
                           one_hop_kinds()));
}

// Some policies require workers to send to the owners of shards directly.
void check_place(const RunConfig& config, const TopologyFile& topology, Findings& findings) {
  const Place place = config.compression.policy->place();
  if (!place.one_hop || topology.is_one_hop()) return;
  findings.add(
      fmt::format("compression.{}", place.key),
      fmt::format("{} is for workers that send to servers directly, and kind: {} has "
                  "routes of several hops",
                  place.says, topology.kind->kind_name()),
      fmt::format("Leave out {}, or use a topology of kind: {}", place.key, one_hop_kinds()));
}

void check_round_time(const RunConfig& config, Findings& findings) {
  const PolicyOptions& policy = *config.compression.policy;
  if (policy.round_time_use() != RoundTimeUse::kNeeds || config.round_time) return;
  findings.add("compression.policy",
               fmt::format("policy: {} sizes messages to fit a round, and round_time is missing",
                           policy.kind_name()),
               "Add round_time: with the time that a round may take, such as "
               "round_time: 25ms");
}

void check_weights(const RunConfig& config, const TopologyFile& topology, Findings& findings) {
  const auto without = std::find_if(topology.nodes.begin(), topology.nodes.end(),
                                    [](const NodeSpec& node) { return !node.data_weight; });
  if (!config.trains_a_model() || !config.data.split->needs_weights() ||
      without == topology.nodes.end())
    return;
  findings.add("data.split",
               fmt::format("data.split is weights, but node {} has no data_weight in the "
                           "topology file",
                           without->name),
               "Give every node there a data_weight, or write split: even");
}

// The sum of several steps is a movement, which only EF14 sends.
void check_local_steps(const RunConfig& config, const TopologyFile& topology, Findings& findings) {
  const CompressionOptions& compression = config.compression;
  const auto several = std::ranges::find_if(
      topology.nodes, [](const NodeSpec& node) { return node.local_steps.value_or(1) > 1; });
  if (compression.sends_movements() || several == topology.nodes.end()) return;
  findings.add("compression",
               fmt::format("node {} takes {} local steps in the topology file, and this config "
                           "sends the gradient of one",
                           several->name, *several->local_steps),
               "Write compression: {policy: auto, feedback: ef14}, or leave out local_steps there");
}

}  // namespace

std::vector<Problem> check_together(const RunConfig& config, const std::string& config_path,
                                    const TopologyFile& topology) {
  Complaints complaints(config_path);
  Findings findings(complaints, config.places);
  check_round_time(config, findings);
  check_compressor(config, topology, findings);
  check_place(config, topology, findings);
  check_weights(config, topology, findings);
  check_local_steps(config, topology, findings);
  check_theory(config, topology, findings);
  return complaints.take();
}

}  // namespace kimesh
