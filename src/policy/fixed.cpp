#include <algorithm>
#include <cmath>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"

namespace kimesh {
namespace {

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

}  // namespace

std::unique_ptr<Policy> make_fixed(const PolicyOptions& options) {
  KIMESH_CHECK(options.ratio > 0 && options.ratio <= 1, "fixed: a ratio in (0, 1]");
  return std::make_unique<Fixed>(options.ratio);
}

}  // namespace kimesh
