// policy: auto. As kimad, but the mesh finds the round time by itself (round_time_search.h), and
// each message's codec follows from the costs of coding, of the wire and of delay (coding.h).
#include "coding.h"
#include "kimesh/policy/policy_options.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

class Auto final : public Policy {
 public:
  explicit Auto(CodecPtr codec) : codec_(std::move(codec)) {}
  Choice choose(const MessageContext& message) const override {
    const Coding coding = coding_of(message, codec_);
    if (coding.codec->has_own_size())
      return {sized(coding.codec, Budget::own(), message), coding.budget_bytes};
    return spend(coding.budget_bytes, message, coding.codec);
  }
  std::size_t budget(const MessageContext& message) const override {
    return budget_without_coder(message, codec_);
  }

 private:
  CodecPtr codec_;
};

class AutoOptions final : public PolicyOptions {
 public:
  void check(const Codec& codec, Keys& keys) const override {
    check_fills_budgets(codec, keys);
    check_has_curves(codec, keys, "policy: auto predicts what messages leave out",
                     "Write compressor: dzq or topk");
  }
  RoundTimeUse round_time_use() const override { return RoundTimeUse::kChooses; }
  // What needs least bytes, and copes with unlike data (docs/experiments.md).
  Scheme usual_scheme() const override {
    return {"dzq", Feedback::kEf14, Gather::kShared, Use::kChosen, Use::kChosen};
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return std::make_unique<Auto>(setup.codec);
  }
};

}  // namespace

Kind<PolicyOptions> auto_policy() {
  return {
      "auto",
      "as kimad, with the round time in which the mesh learns most in a second; by default with "
      "compressor: dzq, feedback: ef14 and gather: shared",
      make_options<AutoOptions, PolicyOptions>};
}

}  // namespace kimesh
