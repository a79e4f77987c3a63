#include "kimesh/ef21/channel.h"

namespace kimesh {

Result<Advanced> advance_channel(const ChannelEnd& sender, kernels::ConstMemorySpan target,
                                 const ChannelMessage& message, CompressScratch& scratch) {
  kernels::Memory& memory = sender.memory;
  if (message.restart && !sender.estimate.empty()) {
    // The difference to 0 is the target itself, so nothing that follows the reset can fail.
    const auto bad = memory.first_not_finite(target);
    if (!bad) return bad.error();
    if (*bad) return not_finite_at(**bad);
    memory.fill(sender.estimate, 0);
  }
  return advance(memory, target, sender.estimate, message.pieces, message.setting, scratch,
                 message.with_curve);
}

Result<Advanced> advance_residual(const ChannelEnd& sender, kernels::MemorySpan target,
                                  const ChannelMessage& message, CompressScratch& scratch) {
  kernels::Memory& memory = sender.memory;
  memory.subtract(sender.estimate, target);
  ChannelMessage from_zero = message;
  from_zero.restart = true;
  auto made = advance_channel(sender, target, from_zero, scratch);
  if (made) memory.subtract(target, sender.estimate);
  return made;
}

Status apply_to_channel(const ChannelEnd& receiver, Form form, std::span<const std::byte> bytes,
                        bool restart) {
  // A dense message assigns, whatever was there, and apply() checks it.
  if (restart && form != Form::kDense) {
    if (Status valid = validate(form, bytes, receiver.estimate.size); !valid) return valid;
    receiver.memory.fill(receiver.estimate, 0);
  }
  return apply(form, bytes, receiver.memory, receiver.estimate);
}

Result<std::uint64_t> channel_digest(const ChannelEnd& sender, kernels::ConstMemorySpan target) {
  return sender.memory.digest(sender.estimate.empty() ? target : sender.estimate);
}

}  // namespace kimesh
