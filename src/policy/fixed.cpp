#include <algorithm>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"
#include "src/policy/style.h"
#include "src/policy/whole.h"

namespace kimesh {
namespace {

class Fixed final : public Policy {
 public:
  explicit Fixed(const PolicyOptions& options)
      : style_(options.style), ratio_(options.ratio), bits_(options.bits) {}

  Choice choose(const MessageContext& message) const override {
    if (ratio_) return {keeping(style_, keep_of_ratio(*ratio_, message.elements), message), 0};
    if (!bits_) return {as_it_is(style_, message), 0};
    const std::uint64_t payload = budget_of_bits(*bits_, message.elements);
    const std::size_t floor = floor_payload(style_, message.elements);
    return {filling(style_, std::max<std::size_t>(payload, floor), message), 0};
  }

 private:
  Setting style_;
  std::optional<double> ratio_, bits_;
};

}  // namespace

std::unique_ptr<Policy> make_fixed(const PolicyOptions& options) {
  KIMESH_CHECK(!options.ratio || (*options.ratio > 0 && *options.ratio <= 1),
               "fixed: a ratio in (0, 1]");
  return std::make_unique<Fixed>(options);
}

}  // namespace kimesh
