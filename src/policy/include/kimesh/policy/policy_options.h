// The kinds of policies: `policy:` in the section `compression` of a config. Each is one source
// file with its name, its keys and its factory, and one line in the table of policies.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "kimesh/codec/codec.h"
#include "kimesh/codec/feedback.h"
#include "kimesh/config/key_values.h"
#include "kimesh/config/keys.h"
#include "kimesh/policy/policy.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class PolicyOptions;

// Of what a mesh may do or leave.
enum class Use {
  kNever,
  kAlways,
  kChosen,  // where that is faster, as the data's split says or the mesh finds
};

// What messages are made with, what happens to what compression drops, who compresses parameters,
// and where and when gradients are computed.
struct Scheme {
  std::string_view compressor = "topk";
  Feedback feedback = Feedback::kEf21;
  Gather gather = Gather::kPerLink;
  Use look_ahead = Use::kNever;
  Use overlap = Use::kNever;
};

// What a policy may ask of a run.
struct Place {
  std::string_view key, says;        // the key of the config that asks for it; with its value
  std::optional<Feedback> feedback;  // nothing: any
  bool one_hop = false;              // topologies whose workers send to owners directly
};

// What `round_time` is to a policy.
enum class RoundTimeUse {
  kNone,     // it means nothing
  kNeeds,    // messages are sized to fit it, and the config gives it
  kChooses,  // the same, and where the config does not give it the mesh searches for the best one
};

// A policy and what it works with.
struct PolicySetup {
  std::shared_ptr<const PolicyOptions> policy;  // null: none
  CodecPtr codec;                               // what messages are made with
  std::optional<Duration> round_time{};         // that a round should take
  unsigned nodes = 2;                           // of the mesh

  [[nodiscard]] bool sends_everything() const;
  // Whether the mesh is to find how its rounds go (round_time_search.h).
  [[nodiscard]] bool searches() const;
};

class PolicyOptions : public KindOptions {
 public:
  // KindOptions::describe declares the keys, beside `policy:` in the config.

  // Complains where the config asks for what this policy and this codec do not do together.
  virtual void check(const Codec& /*codec*/, Keys& /*keys*/) const {}
  [[nodiscard]] virtual RoundTimeUse round_time_use() const { return RoundTimeUse::kNone; }
  // Where alone these options mean something.
  [[nodiscard]] virtual Place place() const { return {}; }
  // What holds where the config does not say it.
  [[nodiscard]] virtual Scheme usual_scheme() const { return {}; }
  // Whether every message is dense, so that no codec, feedback or estimate has a part in it.
  [[nodiscard]] virtual bool sends_everything() const { return false; }
  // The share of its elements that every message keeps, where the config says it.
  [[nodiscard]] virtual std::optional<double> kept_ratio() const { return std::nullopt; }
  // Requires keys in their ranges, a codec that check() accepts, and a round time where needed.
  [[nodiscard]] virtual std::unique_ptr<Policy> make(const PolicySetup& setup) const = 0;
};

// All policies: those of kimesh, then those that were added.
[[nodiscard]] const KindTable<PolicyOptions>& policies();
// Adds a policy of the program's own, before the first file is read.
void add_policy(const Kind<PolicyOptions>& kind);

[[nodiscard]] std::unique_ptr<Policy> make_policy(const PolicySetup& setup);

// The options of the policy of this name, with the values of its keys as a config writes them.
// Requires names and values that a config may have.
[[nodiscard]] std::shared_ptr<const PolicyOptions> policy_options(std::string_view name,
                                                                  const KeyTexts& keys = {});

// For check() of policies that decide how large messages are.
void check_fills_budgets(const Codec& codec, Keys& keys);
// For check() of policies that read error curves; `reason` says what for, as half a sentence.
void check_has_curves(const Codec& codec, Keys& keys, std::string_view reason,
                      std::string_view remedy);

}  // namespace kimesh
