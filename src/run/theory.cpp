// `lr: theory`: where the bound is proven, and what it is.
#include "theory.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/objective/quadratic.h"
#include "kimesh/policy/compression_options.h"
#include "kimesh/run/options.h"

namespace kimesh {
namespace {

// Whether it is known which share of a vector each message keeps: all of it, or that of topk.
bool keeps_a_known_share(const CompressionOptions& compression) {
  if (compression.policy->sends_everything()) return true;
  const CodecTraits traits = compression.codec->traits();
  const bool keeps_the_largest = traits.keeps_elements && traits.has_curves && !traits.rounds;
  return compression.policy->kept_ratio() && keeps_the_largest;
}

bool is_plain_descent(const OptimizerOptions& optimizer) {
  const OptimizerKind::AtWorkers at_workers = optimizer.kind->at_workers();
  return optimizer.kind->is_descent() && at_workers.momentum == 0 && at_workers.decay == 0 &&
         !optimizer.clip;
}

}  // namespace

void check_theory(const RunConfig& config, Findings& findings) {
  if (!config.optimizer.lr_is_theory) return;
  const auto complain = [&](const char* message, const char* remedy) {
    findings.add("optimizer.lr", message, remedy);
  };
  if (!config.quadratic)
    return complain("lr: theory is for quadratics, whose curvatures are known",
                    "Write a number, such as lr: 0.1");
  if (!is_plain_descent(config.optimizer))
    complain("lr: theory is proven for sgd without momentum, weight_decay and clip",
             "Write optimizer: {kind: sgd, lr: theory}, or a number");
  if (!keeps_a_known_share(config.compression))
    complain("lr: theory needs to know which share of a vector a message keeps",
             "Write compression: {policy: fixed, compressor: topk, ratio: 0.1}, or a number");
  else if (config.compression.feedback != Feedback::kEf21)
    complain("lr: theory is proven with feedback: ef21", "Leave out feedback, or write a number");
}

void check_theory(const RunConfig& config, const TopologyFile& topology, Findings& findings) {
  if (!config.optimizer.lr_is_theory || topology.is_one_hop()) return;
  findings.add("optimizer.lr",
               fmt::format("lr: theory is proven for one hop, and kind: {} has several",
                           topology.kind->kind_name()),
               fmt::format("Use a topology of kind: {}, or write a number", one_hop_kinds()));
}

double theory_learning_rate(const RunConfig& config, const Smoothness& smoothness,
                            const Plan& plan) {
  double alpha = 1;
  if (const auto ratio = config.compression.policy->kept_ratio())
    for (const Shard& shard : plan.shards) {
      if (shard.size == 0) continue;
      alpha = std::min(alpha, static_cast<double>(keep_of_ratio(*ratio, shard.size)) /
                                  static_cast<double>(shard.size));
    }
  return theory_step_size(smoothness.mean, smoothness.parts, alpha, alpha);
}

}  // namespace kimesh
