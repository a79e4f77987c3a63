#include <fmt/format.h>

#include "src/config/config_reader.h"
#include "src/config/limits.h"
#include "src/config/map_reader.h"

namespace kimesh {
namespace {

constexpr Range kRoundsOrNone{0, double{limits::kRoundsMax}};

}  // namespace

void read_compression(const YamlValue& value, CompressionConfig& compression,
                      Complaints& complaints) {
  MapReader reader(complaints, value, "compression",
                   {"policy", "compressor", "ratio", "digest_every"});
  compression.line = reader.line_of("policy");
  reader.require("policy", "policy: kimad");
  const bool policy_known = reader.choose(
      "policy", compression.policy,
      {{"none", PolicyKind::kNone}, {"fixed", PolicyKind::kFixed}, {"kimad", PolicyKind::kKimad}});
  reader.choose("compressor", compression.compressor,
                {{"identity", CompressorKind::kIdentity}, {"topk", CompressorKind::kTopk}});
  reader.read("ratio", compression.ratio, {0, 1, true});
  reader.read_whole("digest_every", compression.digest_every, kRoundsOrNone);
  if (!policy_known) return;
  const bool identity = compression.compressor == CompressorKind::kIdentity;
  if (compression.policy == PolicyKind::kNone) {
    if (reader.find("compressor") != nullptr && !identity)
      reader.refuse({"compressor"}, "policy: none, which sends everything");
    compression.compressor = CompressorKind::kIdentity;
  } else if (identity) {
    reader.complain("compressor",
                    "compressor: identity sends everything, whatever the policy decides",
                    "Write compressor: topk, or policy: none");
  }
  if (compression.policy == PolicyKind::kFixed)
    reader.require("ratio", "ratio: with the share that is kept, such as ratio: 0.01");
  else
    reader.refuse({"ratio"}, "a policy other than fixed");
}

std::string canonical(const CompressionConfig& c, std::optional<Duration> round_time) {
  std::string text = fmt::format("digest_every {} policy ", c.digest_every);
  if (c.policy == PolicyKind::kNone) return text + "none\n";
  text += c.policy == PolicyKind::kFixed
              ? fmt::format("fixed {}", c.ratio)
              : fmt::format("kimad {}", round_time ? round_time->count() : 0);
  return text + (c.compressor == CompressorKind::kTopk ? " topk\n" : " identity\n");
}

}  // namespace kimesh
