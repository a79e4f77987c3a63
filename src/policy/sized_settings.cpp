#include "sized_settings.h"

#include <algorithm>

#include "message_size.h"

namespace kimesh {
namespace {

Setting on_route(const CodecPtr& codec, Budget budget, const MessageContext& message) {
  const CodecTraits traits = codec->traits();
  Setting setting{codec, budget, message.round};
  if (traits.rounds) setting.rounding = rounding_on(message);
  if (traits.has_floors) setting.floor = floor_keep(message.elements);
  return setting;
}

}  // namespace

Rounding rounding_on(const MessageContext& message) {
  return message.is_compressed_again ? Rounding::kTowardsZero : Rounding::kNearest;
}

Setting sized(const CodecPtr& codec, Budget budget, const MessageContext& message) {
  const Setting setting = on_route(codec, budget, message);
  // The size of a message by a threshold or a step is known once it is made.
  if (budget.kind == Budget::Kind::kOwn && !codec->size_key().empty()) return setting;
  const bool is_long = dense_bytes(message.elements) <= bytes_of(setting, message.elements);
  return is_long ? Setting{} : setting;
}

Setting sized_within(const CodecPtr& codec, std::size_t payload_bytes,
                     const MessageContext& message) {
  const Budget budget = codec->budget_within(payload_bytes, message.elements);
  if (budget.kind == Budget::Kind::kKeep) {
    const std::uint32_t floor = floor_keep(message.elements);
    return sized(codec, Budget::keep(std::max(budget.elements(), floor)), message);
  }
  if (dense_bytes(message.elements) <= payload_bytes) return Setting{};
  return on_route(codec, budget, message);
}

Choice spend(std::size_t wanted_budget, const MessageContext& message, const CodecPtr& codec) {
  const std::size_t floor = floor_bytes(message, *codec);
  const std::size_t budget = std::max(wanted_budget, floor);
  if (whole_bytes(dense_bytes(message.elements), message) <= budget) return {Setting{}, budget};
  // The budget holds the floor; where a dense message is smaller than the floor it was chosen
  // above.
  const std::size_t payload =
      std::max(payload_that_fits(budget, message), floor_payload(*codec, message.elements));
  return {sized_within(codec, payload, message), budget};
}

}  // namespace kimesh
