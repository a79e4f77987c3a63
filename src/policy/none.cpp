// policy: none. Every message is dense.
#include "kimesh/policy/policy_options.h"

namespace kimesh {
namespace {

class Dense final : public Policy {
 public:
  Choice choose(const MessageContext&) const override { return {}; }
};

class NoneOptions final : public PolicyOptions {
 public:
  bool sends_everything() const override { return true; }
  std::unique_ptr<Policy> make(const PolicySetup&) const override {
    return std::make_unique<Dense>();
  }
};

}  // namespace

Kind<PolicyOptions> none_policy() {
  return {"none", "everything in float32", make_options<NoneOptions, PolicyOptions>};
}

}  // namespace kimesh
