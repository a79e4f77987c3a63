// policy: auto. As kimad, and the mesh finds the round time by itself (round_time_search.h).
#include "kimad.h"
#include "kimesh/policy/policy_options.h"

namespace kimesh {
namespace {

class AutoOptions final : public PolicyOptions {
 public:
  void check(const Codec& codec, Keys& keys) const override {
    check_fills_budgets(codec, keys);
    check_has_curves(codec, keys, "policy: auto predicts what messages leave out",
                     "Write compressor: dzq or topk");
  }
  RoundTimeUse round_time_use() const override { return RoundTimeUse::kChooses; }
  // What needs least bytes, and copes with unlike data (docs/figures.md).
  Scheme usual_scheme() const override {
    return {"dzq", Feedback::kEf14, Gather::kShared, Use::kChosen, Use::kChosen};
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return make_kimad(setup.codec);
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
