#include <algorithm>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"
#include "src/policy/style.h"
#include "src/policy/whole.h"

namespace kimesh {
namespace {

class Kimad final : public Policy {
 public:
  explicit Kimad(const PolicyOptions& options)
      : round_time_(*options.round_time), style_(options.style) {}
  Choice choose(const MessageContext& message) const override {
    return spend(budget_bytes(round_time_, message, style_), message, style_);
  }

 private:
  Duration round_time_;
  Setting style_;
};

}  // namespace

std::unique_ptr<Policy> make_kimad(const PolicyOptions& options) {
  KIMESH_CHECK(options.round_time.has_value(), "kimad: a round time");
  return std::make_unique<Kimad>(options);
}

Choice spend(std::size_t wanted_budget, const MessageContext& message, const Setting& style) {
  const std::size_t floor = floor_bytes(message, style);
  const std::size_t budget = std::max(wanted_budget, floor);
  if (whole_bytes(dense_bytes(message.elements), message) <= budget) return {Setting{}, budget};
  // The budget holds the floor, dense where that is less: then it was sent dense above.
  const std::size_t payload =
      std::max(payload_that_fits(budget, message), floor_payload(style, message.elements));
  return {filling(style, payload, message), budget};
}

}  // namespace kimesh
