// The section `compression` of a config: how messages become small enough for their links.
#pragma once

#include <optional>
#include <string>

#include "kimesh/util/ids.h"

namespace kimesh {

enum class PolicyKind { kNone, kFixed, kKimad, kKimadPlus, kGravac };
enum class CompressorKind { kIdentity, kTopk };
enum class FeedbackKind { kEf21, kEf14, kNone };      // what a reduce does with what it left out
enum class AllocatorKind { kThreshold, kKnapsack };   // how layers share a message
enum class ScalingKind { kExponential, kGeometric };  // how fast the factors that are tried grow
enum class ScopeKind { kNode, kLink };                // who has a factor of its own

// policy: gravac. A factor is how many times fewer elements are sent.
struct GravacConfig {
  double theta_min = 10, theta_max = 1000;  // 1 <= theta_min < theta_max
  double epsilon = 0.9;                     // gain that a factor must keep
  double omega = 0.01;                      // two gains nearer than this share are equal
  Round window = 20;                        // rounds between two looks at the factors
  ScalingKind scaling = ScalingKind::kExponential;
  ScopeKind scope = ScopeKind::kNode;
};

struct CompressionConfig {
  PolicyKind policy = PolicyKind::kNone;
  CompressorKind compressor = CompressorKind::kTopk;    // policy none: identity, once loaded
  double ratio = 0.05;                                  // fixed: share of the elements that is kept
  AllocatorKind allocator = AllocatorKind::kThreshold;  // kimad_plus
  unsigned ratios = 20;                                 // knapsack: choices of each layer
  unsigned bins = 1000;                                 // knapsack: parts of the budget
  GravacConfig gravac;
  FeedbackKind feedback = FeedbackKind::kEf21;
  int line = 0;             // of `policy` in the config file, for sentences
  int feedback_line = 0;    // of `feedback`
  Round digest_every = 50;  // rounds between digests of both ends of a channel; 0: never
};

// As RunConfig::canonical, of this section and what the policy reads of `round_time`.
[[nodiscard]] std::string canonical(const CompressionConfig& compression,
                                    std::optional<Duration> round_time);

}  // namespace kimesh
