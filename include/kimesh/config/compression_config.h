// The section `compression` of a config: how messages become small enough for their links.
#pragma once

#include <optional>
#include <string>

#include "kimesh/config/complaints.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/util/ids.h"

namespace kimesh {

enum class PolicyKind { kNone, kFixed, kKimad, kKimadPlus, kGravac };
enum class CompressorKind {
  kIdentity,
  kTopk,
  kThreshold,
  kRandk,
  kDgc,
  kRedsync,
  kSign,
  kInt8,
  kInt4,
  kDzq
};
enum class ValuesKind { kFloat32, kFloat16, kBfloat16, kInt4 };  // how values are written
enum class IndicesKind { kRaw, kPacked, kCoded };                // and their places
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

// What messages are made with, and how they are written.
struct CompressorConfig {
  CompressorKind kind = CompressorKind::kTopk;  // policy none: identity, once loaded
  ValuesKind values = ValuesKind::kFloat32;     // sparse compressors, identity
  IndicesKind indices = IndicesKind::kRaw;      // sparse compressors
  // policy: fixed. How much is sent, by one of these.
  std::optional<double> ratio;      // share of the elements that is kept, (0, 1]
  std::optional<double> bits;       // bits per element, (0, 32]
  std::optional<double> threshold;  // threshold: smallest difference that is sent
  std::optional<double> step;       // dzq: width of a bin
  bool scaled = false;              // randk: unbiased; one hop, without feedback
  int line = 0;                     // of `compressor` in the config file, for sentences
};

struct CompressionConfig {
  PolicyKind policy = PolicyKind::kNone;
  CompressorConfig compressor;
  AllocatorKind allocator = AllocatorKind::kThreshold;  // kimad_plus
  unsigned ratios = 20;                                 // knapsack: choices of each layer
  unsigned bins = 1000;                                 // knapsack: parts of the budget
  GravacConfig gravac;
  FeedbackKind feedback = FeedbackKind::kEf21;
  int line = 0;             // of `policy` in the config file, for sentences
  int feedback_line = 0;    // of `feedback`
  Round digest_every = 50;  // rounds between digests of both ends of a channel; 0: never
};

void read_compression(const YamlValue& value, CompressionConfig& compression,
                      Complaints& complaints);

// As RunConfig::canonical, of this section and what the policy reads of `round_time`.
[[nodiscard]] std::string canonical(const CompressionConfig& compression,
                                    std::optional<Duration> round_time);

}  // namespace kimesh
