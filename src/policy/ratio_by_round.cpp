// policy: ratio_by_round. Every message keeps the share of its elements that the config says for
// its round: sparse at the start and denser towards the end, or the other way round.
#include <fmt/format.h>

#include <iterator>
#include <map>

#include "kimesh/policy/policy_options.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

constexpr std::size_t kRatiosMax = 64;  // changes of the ratio in one run; more is a formula's work

class RatioByRound final : public Policy {
 public:
  RatioByRound(CodecPtr codec, std::map<Round, double> ratios)
      : codec_(std::move(codec)), ratios_(std::move(ratios)) {}

  Choice choose(const MessageContext& message) const override {
    const double ratio = std::prev(ratios_.upper_bound(message.round))->second;
    return {sized(codec_, Budget::keep(keep_of_ratio(ratio, message.elements)), message), 0};
  }

 private:
  CodecPtr codec_;
  std::map<Round, double> ratios_;  // by the round from which on it holds; the first is 0
};

class RatioByRoundOptions final : public PolicyOptions {
 public:
  void describe(Keys& keys) override {
    keys.require("ratio_from_round",
                 "ratio_from_round: with shares that are kept, such as {0: 0.1, 200: 0.01}");
    keys.numbers_by_round("ratio_from_round", ratios_, {0, 1, true}, kRatiosMax,
                          "share of the elements that a message keeps, from a round on");
  }
  void check(const Codec& codec, Keys& keys) const override {
    const std::string_view size_key = codec.size_key();
    if (!size_key.empty()) keys.refuse({size_key}, "policy: ratio_by_round");
    keys.check(
        codec.traits().keeps_elements, "compressor",
        fmt::format("compressor: {} does not keep a share of the elements", codec.kind_name()),
        "Write compressor: topk, or policy: fixed");
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return std::make_unique<RatioByRound>(setup.codec, ratios_);
  }

 private:
  std::map<Round, double> ratios_;
};

}  // namespace

Kind<PolicyOptions> ratio_by_round_policy() {
  return {"ratio_by_round", "a share of the elements for each round",
          make_options<RatioByRoundOptions, PolicyOptions>};
}

}  // namespace kimesh
