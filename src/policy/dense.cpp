#include "src/policy/policies.h"

namespace kimesh {
namespace {

class Dense final : public Policy {
 public:
  Choice choose(const MessageContext&) const override { return {}; }
};

}  // namespace

std::unique_ptr<Policy> make_dense(const PolicyOptions&) {
  return std::make_unique<Dense>();
}

}  // namespace kimesh
