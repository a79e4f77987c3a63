// The section `compression` of a config: how messages become small enough for their links.
#pragma once

#include <memory>
#include <optional>

#include "kimesh/codec/codec.h"
#include "kimesh/codec/feedback.h"
#include "kimesh/config/key_values.h"
#include "kimesh/policy/policy_options.h"

namespace kimesh {

struct CompressionOptions {
  CompressionOptions();  // policy: none

  std::shared_ptr<PolicyOptions> policy;
  std::shared_ptr<Codec> codec;  // policy none: not asked
  Feedback feedback = Feedback::kEf21;
  Gather gather = Gather::kPerLink;
  // Whether owners take gradients of their own shards at what they have sent of them, as all others
  // do, or at the shards themselves. Chosen: RunConfig::takes_one_point.
  Use one_point = Use::kChosen;
  Use look_ahead = Use::kNever;
  Use overlap = Use::kNever;
  // Optimizer steps of a node between two rounds of messages; a topology file may say another
  // number for a node. More than one: requires Feedback::kEf14. Nothing: one, or as many as the
  // mesh chooses (chooses_local_steps).
  std::optional<unsigned> local_steps;
  Round digest_every = 50;  // rounds between digests of both ends of a channel; 0: never

  // Whether messages carry movements, which may be those of many steps.
  [[nodiscard]] bool sends_movements() const;
  // Whether gradients are taken ahead of the parameters, and beside messages, as feedback allows.
  [[nodiscard]] Use looks_ahead() const;
  [[nodiscard]] Use overlaps() const;
  // Whether the mesh chooses how many steps lie between two rounds of messages.
  [[nodiscard]] bool chooses_local_steps() const;

  void describe(Keys& keys);

 private:
  void check(Keys& keys);
  void check_one_point(Keys& keys);
  void check_look_ahead(Keys& keys);
  void check_local_steps(Keys& keys);
};

// Options with these keys, as a config writes them: {{"policy", "fixed"}, {"ratio", "0.1"}}.
// Requires names and values that a config may have.
[[nodiscard]] CompressionOptions compression_options(const KeyTexts& keys);

}  // namespace kimesh
