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

Setting topk_or_dense(std::uint32_t keep, const MessageContext& message) {
  const Setting dense{Compressor::kIdentity, 0, 0}, topk{Compressor::kTopk, keep, message.round};
  const std::size_t n = message.elements;
  return bytes_of(dense, n) <= bytes_of(topk, n) ? dense : topk;
}

}  // namespace kimesh
