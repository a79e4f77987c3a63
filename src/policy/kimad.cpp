#include <algorithm>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"
#include "src/policy/whole.h"

namespace kimesh {
namespace {

class Kimad final : public Policy {
 public:
  explicit Kimad(Duration round_time) : round_time_(round_time) {}
  Choice choose(const MessageContext& message) const override {
    return spend(budget_bytes(round_time_, message), message);
  }

 private:
  Duration round_time_;
};

}  // namespace

std::unique_ptr<Policy> make_kimad(const PolicyOptions& options) {
  KIMESH_CHECK(options.round_time.has_value(), "kimad: a round time");
  return std::make_unique<Kimad>(*options.round_time);
}

Choice spend(std::size_t wanted_budget, const MessageContext& message) {
  const std::size_t budget = std::max(wanted_budget, floor_bytes(message));
  const Setting dense{Compressor::kIdentity, 0, 0};
  if (whole_bytes(bytes_of(dense, message.elements), message) <= budget) return {dense, budget};
  // The budget holds the floor, dense where that is less: then it was sent dense above.
  const std::size_t payload = payload_that_fits(budget, message);
  const std::uint32_t keep =
      std::max(topk_that_fits(payload, message.elements), floor_keep(message.elements));
  return {{Compressor::kTopk, keep, message.round}, budget};
}

}  // namespace kimesh
