// The table of policies.
#include <fmt/format.h>

#include "kimesh/config/key_values.h"
#include "kimesh/policy/policy_options.h"
#include "kimesh/util/check.h"

namespace kimesh {

// One line for each policy: X(NAME) stands for NAME_policy(), which the policy's own file defines.
// clang-format off
#define KIMESH_POLICIES(X) \
  X(none)                  \
  X(fixed)                 \
  X(ratio_by_round)        \
  X(auto)                  \
  X(kimad)                 \
  X(kimad_plus)            \
  X(gravac)
// clang-format on

#define KIMESH_DECLARE(name) Kind<PolicyOptions> name##_policy();
KIMESH_POLICIES(KIMESH_DECLARE)
#undef KIMESH_DECLARE

namespace {

KindTable<PolicyOptions>& all() {
#define KIMESH_CALL(name) name##_policy(),
  static KindTable<PolicyOptions> table("policy", {KIMESH_POLICIES(KIMESH_CALL)});
#undef KIMESH_CALL
  return table;
}

}  // namespace

const KindTable<PolicyOptions>& policies() {
  return all();
}

void add_policy(const Kind<PolicyOptions>& kind) {
  all().add(kind);
}

bool PolicySetup::sends_everything() const {
  return policy == nullptr || policy->sends_everything();
}

bool PolicySetup::searches() const {
  return policy && policy->round_time_use() == RoundTimeUse::kChooses;
}

std::unique_ptr<Policy> make_policy(const PolicySetup& setup) {
  if (setup.sends_everything()) return policies().make("none")->make(setup);
  KIMESH_CHECK(setup.codec != nullptr, "a codec");
  KIMESH_CHECK(setup.policy->round_time_use() != RoundTimeUse::kNeeds || setup.round_time,
               "a round time");
  return setup.policy->make(setup);
}

std::shared_ptr<const PolicyOptions> policy_options(std::string_view name, const KeyTexts& keys) {
  std::shared_ptr<PolicyOptions> options = policies().make(name);
  const Status set = set_keys([&](Keys& visitor) { options->describe(visitor); }, keys);
  KIMESH_CHECK(set.ok(), set.ok() ? "keys" : set.error().message);
  return options;
}

void check_fills_budgets(const Codec& codec, Keys& keys) {
  const std::string_view size_key = codec.size_key();
  if (!size_key.empty()) keys.refuse({size_key}, "a policy other than fixed");
  if (codec.traits().meets_budgets) return;
  if (!size_key.empty())
    return keys.check(
        false, "compressor",
        fmt::format("compressor: {} sends what reaches its {}, whatever the policy decides",
                    codec.kind_name(), size_key),
        fmt::format("Write compressor: topk, or policy: fixed with a {}:", size_key));
  if (codec.is_dense())
    return keys.check(keys.is_wrong("values"), "compressor",
                      "compressor: identity sends everything, whatever the policy decides",
                      "Write compressor: topk, or policy: none");
  keys.check(false, "compressor",
             fmt::format("compressor: {} makes messages of one size, whatever the policy decides",
                         codec.kind_name()),
             "Write compressor: dzq, or policy: fixed");
}

void check_has_curves(const Codec& codec, Keys& keys, std::string_view reason,
                      std::string_view remedy) {
  const CodecTraits traits = codec.traits();
  if (!traits.meets_budgets) return;  // check_fills_budgets has complained
  keys.check(traits.has_curves, "compressor",
             fmt::format("{}, and compressor: {} does not let it", reason, codec.kind_name()),
             std::string(remedy));
}

}  // namespace kimesh
