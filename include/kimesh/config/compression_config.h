// The section `compression` of a config: how messages become small enough for their links.
#pragma once

#include <optional>
#include <string>

#include "kimesh/util/ids.h"

namespace kimesh {

enum class PolicyKind { kNone, kFixed, kKimad };
enum class CompressorKind { kIdentity, kTopk };

struct CompressionConfig {
  PolicyKind policy = PolicyKind::kNone;
  CompressorKind compressor = CompressorKind::kTopk;  // policy none: identity, once loaded
  double ratio = 0.05;                                // fixed: share of the elements that is kept
  int line = 0;             // of `policy` in the config file, for sentences
  Round digest_every = 50;  // rounds between digests of both ends of a channel; 0: never
};

// As RunConfig::canonical, of this section and what the policy reads of `round_time`.
[[nodiscard]] std::string canonical(const CompressionConfig& compression,
                                    std::optional<Duration> round_time);

}  // namespace kimesh
