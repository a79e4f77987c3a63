#include "kimesh/policy/policy.h"

#include <algorithm>
#include <cmath>

#include "kimesh/util/check.h"
#include "src/policy/whole.h"

namespace kimesh {
namespace {

// What assigns needs no estimate and carries no error: never topk where dense is no longer.
Setting topk_or_dense(std::uint32_t keep, const MessageContext& message) {
  const Setting dense{Form::kDense, 0, 0}, topk{Form::kTopk, keep, message.round};
  const std::size_t n = message.elements;
  return bytes_of(dense, n) <= bytes_of(topk, n) ? dense : topk;
}

class Dense final : public Policy {
 public:
  Choice choose(const MessageContext&) const override { return {}; }
};

class Fixed final : public Policy {
 public:
  explicit Fixed(double ratio) : ratio_(ratio) {}
  Choice choose(const MessageContext& message) const override {
    const double keep = std::round(ratio_ * static_cast<double>(message.elements));
    return {topk_or_dense(static_cast<std::uint32_t>(std::max(1.0, keep)), message), 0};
  }

 private:
  double ratio_;
};

class Kimad final : public Policy {
 public:
  explicit Kimad(Duration round_time) : round_time_(round_time) {}
  Choice choose(const MessageContext& message) const override {
    const std::size_t budget = budget_bytes(round_time_, message);
    const Setting dense{Form::kDense, 0, 0};
    if (whole_bytes(bytes_of(dense, message.elements), message) <= budget) return {dense, budget};
    // The budget holds the floor, dense where that is less: then it was sent dense above.
    const std::size_t payload = payload_that_fits(budget, message);
    const std::uint32_t keep =
        std::max(topk_that_fits(payload, message.elements), floor_keep(message.elements));
    return {{Form::kTopk, keep, message.round}, budget};
  }

 private:
  Duration round_time_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(const PolicyOptions& options) {
  if (options.dense_only || options.kind == PolicyOptions::Kind::kNone)
    return std::make_unique<Dense>();
  if (options.kind == PolicyOptions::Kind::kFixed) {
    KIMESH_CHECK(options.ratio > 0 && options.ratio <= 1, "fixed: a ratio in (0, 1]");
    return std::make_unique<Fixed>(options.ratio);
  }
  KIMESH_CHECK(options.round_time.has_value(), "kimad: a round time");
  return std::make_unique<Kimad>(*options.round_time);
}

}  // namespace kimesh
