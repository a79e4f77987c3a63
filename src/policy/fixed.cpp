// policy: fixed. Every message is as large as the config says, whatever its link carries.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "kimesh/policy/policy_options.h"
#include "message_size.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

constexpr double kBitsMax = 32;  // bits of a float32: no message takes more

class Fixed final : public Policy {
 public:
  Fixed(CodecPtr codec, std::optional<double> ratio, std::optional<double> bits)
      : codec_(std::move(codec)), ratio_(ratio), bits_(bits) {}

  Choice choose(const MessageContext& message) const override {
    if (ratio_)
      return {sized(codec_, Budget::keep(keep_of_ratio(*ratio_, message.elements)), message), 0};
    if (!bits_) return {sized(codec_, Budget::own(), message), 0};
    const std::uint64_t payload = budget_of_bits(*bits_, message.elements);
    const std::size_t floor = floor_payload(*codec_, message.elements);
    return {sized_within(codec_, std::max<std::size_t>(payload, floor), message), 0};
  }

 private:
  CodecPtr codec_;
  std::optional<double> ratio_, bits_;
};

class FixedOptions final : public PolicyOptions {
 public:
  void describe(Keys& keys) override {
    keys.number("ratio", ratio_, {0, 1, true}, "share of the elements that a message keeps");
    keys.number("bits", bits_, {0, kBitsMax, true}, "bits of a message per element");
  }
  void check(const Codec& codec, Keys& keys) const override;
  std::optional<double> kept_ratio() const override { return ratio_; }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return std::make_unique<Fixed>(setup.codec, ratio_, bits_);
  }

 private:
  std::optional<double> ratio_, bits_;
};

// Checks that exactly one key sets the size, and that it has a meaning with the codec.
void FixedOptions::check(const Codec& codec, Keys& keys) const {
  if (codec.is_dense()) return check_fills_budgets(codec, keys);
  const CodecTraits traits = codec.traits();
  const std::string reason = fmt::format("compressor: {}", codec.kind_name());
  std::vector<std::string_view> sizes;
  const auto look = [&](std::string_view key, bool means_something) {
    if (!means_something) return keys.refuse({key}, reason);
    if (keys.is_given(key)) sizes.push_back(key);
  };
  look("ratio", traits.keeps_elements);
  look("bits", traits.meets_budgets);
  if (!codec.size_key().empty()) look(codec.size_key(), true);
  if (sizes.size() > 1)
    keys.check(false, sizes[1],
               fmt::format("{} and {} both say how much is sent", sizes[0], sizes[1]),
               "Leave one of them out");
  if (!sizes.empty()) return;
  if (traits.keeps_elements)
    return keys.require("ratio", "ratio: with the share that is kept, such as ratio: 0.01");
  if (traits.meets_budgets)
    return keys.require("bits", "bits: per element on the average, such as bits: 0.1");
  if (!codec.size_key().empty())
    keys.require(codec.size_key(),
                 fmt::format("{0}: with the smallest difference that is sent, such as {0}: 0.001",
                             codec.size_key()));
}

}  // namespace

Kind<PolicyOptions> fixed_policy() {
  return {"fixed", "the same size for every message", make_options<FixedOptions, PolicyOptions>};
}

}  // namespace kimesh
