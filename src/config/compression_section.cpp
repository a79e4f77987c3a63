#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "kimesh/config/map_reader.h"
#include "src/config/compressor_keys.h"
#include "src/config/limits.h"

namespace kimesh {
namespace {

constexpr Range kRoundsOrNone{0, kRoundsMax};
constexpr Range kFactors{1, limits::kFactorMax};

void read_kimad_plus(MapReader& reader, CompressionConfig& compression) {
  reader.choose("allocator", compression.allocator,
                {{"threshold", AllocatorKind::kThreshold}, {"knapsack", AllocatorKind::kKnapsack}});
  if (compression.allocator == AllocatorKind::kThreshold)
    return reader.refuse({"ratios", "bins"}, "an allocator other than knapsack");
  reader.read_whole("ratios", compression.ratios, {limits::kMenuRatiosMin, limits::kMenuRatiosMax});
  reader.read_whole("bins", compression.bins, {limits::kBudgetBinsMin, limits::kBudgetBinsMax});
}

void read_gravac(MapReader& reader, GravacConfig& gravac) {
  reader.read("theta_min", gravac.theta_min, kFactors);
  reader.read("theta_max", gravac.theta_max, kFactors);
  if (gravac.theta_min >= gravac.theta_max)
    reader.complain(reader.find("theta_min") != nullptr ? "theta_min" : "theta_max",
                    fmt::format("there is no factor to search from theta_min {} to theta_max {}",
                                gravac.theta_min, gravac.theta_max),
                    "Write a theta_max that is larger than theta_min");
  reader.read("epsilon", gravac.epsilon, {0, 1, true});
  reader.read("omega", gravac.omega, {0, limits::kOmegaMax, true});
  reader.read_whole("window", gravac.window, {1, kRoundsMax});
  reader.choose(
      "scaling", gravac.scaling,
      {{"exponential", ScalingKind::kExponential}, {"geometric", ScalingKind::kGeometric}});
  reader.choose("scope", gravac.scope, {{"node", ScopeKind::kNode}, {"link", ScopeKind::kLink}});
}

void read_of_policy(MapReader& reader, CompressionConfig& compression) {
  if (compression.policy == PolicyKind::kKimadPlus)
    read_kimad_plus(reader, compression);
  else
    reader.refuse({"allocator", "ratios", "bins"}, "a policy other than kimad_plus");
  if (compression.policy == PolicyKind::kGravac)
    read_gravac(reader, compression.gravac);
  else
    reader.refuse({"theta_min", "theta_max", "epsilon", "omega", "window", "scaling", "scope"},
                  "a policy other than gravac");
}

std::string canonical_policy(const CompressionConfig& c, std::optional<Duration> round_time) {
  const auto time = round_time ? round_time->count() : 0;
  switch (c.policy) {
    case PolicyKind::kNone:
      return "none";
    case PolicyKind::kFixed:
      return "fixed";
    case PolicyKind::kKimad:
      return fmt::format("kimad {}", time);
    case PolicyKind::kKimadPlus:
      if (c.allocator == AllocatorKind::kThreshold) return fmt::format("kimad_plus {}", time);
      return fmt::format("kimad_plus {} knapsack {} {}", time, c.ratios, c.bins);
    case PolicyKind::kGravac:
      break;
  }
  const GravacConfig& g = c.gravac;
  return fmt::format("gravac {} {} {} {} {} {} {}", g.theta_min, g.theta_max, g.epsilon, g.omega,
                     g.window, g.scaling == ScalingKind::kGeometric ? "geometric" : "exponential",
                     g.scope == ScopeKind::kLink ? "link" : "node");
}

std::string_view name_of(FeedbackKind feedback) {
  switch (feedback) {
    case FeedbackKind::kEf21:
      return "ef21";
    case FeedbackKind::kEf14:
      return "ef14";
    case FeedbackKind::kNone:
      return "none";
  }
  return "";
}

}  // namespace

void read_compression(const YamlValue& value, CompressionConfig& compression,
                      Complaints& complaints) {
  MapReader reader(
      complaints, value, "compression",
      {"policy",  "compressor", "values",    "indices", "ratio", "bits",      "threshold",
       "step",    "scaled",     "allocator", "ratios",  "bins",  "theta_min", "theta_max",
       "epsilon", "omega",      "window",    "scaling", "scope", "feedback",  "digest_every"});
  compression.line = reader.line_of("policy");
  compression.feedback_line = reader.line_of("feedback");
  reader.require("policy", "policy: kimad");
  const bool policy_known = reader.choose("policy", compression.policy,
                                          {{"none", PolicyKind::kNone},
                                           {"fixed", PolicyKind::kFixed},
                                           {"kimad", PolicyKind::kKimad},
                                           {"kimad_plus", PolicyKind::kKimadPlus},
                                           {"gravac", PolicyKind::kGravac}});
  reader.choose("feedback", compression.feedback,
                {{"ef21", FeedbackKind::kEf21},
                 {"ef14", FeedbackKind::kEf14},
                 {"none", FeedbackKind::kNone}});
  reader.read_whole("digest_every", compression.digest_every, kRoundsOrNone);
  read_compressor(reader, compression.compressor);
  if (!policy_known) return;
  if (compression.policy == PolicyKind::kNone && compression.feedback != FeedbackKind::kEf21)
    reader.refuse({"feedback"},
                  "policy: none, which sends everything, so that nothing is fed back");
  read_of_policy(reader, compression);
  check_compressor(reader, compression);
}

std::string canonical(const CompressionConfig& c, std::optional<Duration> round_time) {
  std::string text =
      fmt::format("digest_every {} policy {}", c.digest_every, canonical_policy(c, round_time));
  if (c.policy == PolicyKind::kNone) return text + "\n";
  return text +
         fmt::format(" {} feedback {}\n", canonical_compressor(c.compressor), name_of(c.feedback));
}

}  // namespace kimesh
