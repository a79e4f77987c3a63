// policy: kimad. Each message is the largest that its link carries in time, the same ratio for each
// layer (Xin, Ilin, Yang, Canini, Richtárik: Kimad, 2023).
#include "kimesh/policy/policy_options.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

class Kimad final : public Policy {
 public:
  explicit Kimad(CodecPtr codec) : codec_(std::move(codec)) {}
  Choice choose(const MessageContext& message) const override {
    return spend(budget(message), message, codec_);
  }
  std::size_t budget(const MessageContext& message) const override {
    return budget_bytes(message.round_time, message, *codec_);
  }

 private:
  CodecPtr codec_;
};

class KimadOptions final : public PolicyOptions {
 public:
  void check(const Codec& codec, Keys& keys) const override { check_fills_budgets(codec, keys); }
  RoundTimeUse round_time_use() const override { return RoundTimeUse::kNeeds; }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return std::make_unique<Kimad>(setup.codec);
  }
};

}  // namespace

Kind<PolicyOptions> kimad_policy() {
  return {"kimad", "the largest message that its link carries in time",
          make_options<KimadOptions, PolicyOptions>};
}

}  // namespace kimesh
