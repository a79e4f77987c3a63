// The two ends of an EF21 channel (Richtárik, Sokolov, Fatkhullin, 2021). Both hold an estimate h
// of what the sender wants the far side to have; a message moves both by the same amount, so that
// they stay equal bit for bit while no message is lost, doubled or reordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/util/result.h"

namespace kimesh {

// One end of a channel. It owns nothing.
struct ChannelEnd {
  kernels::Memory& memory;
  kernels::MemorySpan estimate;  // empty where none is kept
};

// How the sender makes a message.
struct ChannelMessage {
  std::span<const Piece> pieces;
  const Setting& setting;
  bool restart = false;  // the estimate starts from 0 first, as it does at the far end
  bool with_curve = false;
};

// The sender's end: as advance of compressor.h. Errors: NotFinite; the estimate is untouched then.
[[nodiscard]] Result<Advanced> advance_channel(const ChannelEnd& sender,
                                               kernels::ConstMemorySpan target,
                                               const ChannelMessage& message,
                                               CompressScratch& scratch);

// The sender's end of a channel with the classic residual e (EF14: Seide et al., 2014), which the
// estimate holds as −e: sends C(target + e) and keeps what that dropped. The far end decodes it
// from 0, whatever the message says of a restart. `target` becomes target + e. The energies are of
// target + e, too. Requires an estimate.
[[nodiscard]] Result<Advanced> advance_residual(const ChannelEnd& sender,
                                                kernels::MemorySpan target,
                                                const ChannelMessage& message,
                                                CompressScratch& scratch);

// The receiver's end: as apply of compressor.h, with the same `restart` as at the sender. Errors:
// Malformed; the estimate is untouched then.
[[nodiscard]] Status apply_to_channel(const ChannelEnd& receiver, Form form,
                                      std::span<const std::byte> bytes, bool restart);

// The digest that the far end must have after this message. A dense message assigns, so that it is
// the target's digest where no estimate is kept. Errors: Io, where a device failed.
[[nodiscard]] Result<std::uint64_t> channel_digest(const ChannelEnd& sender,
                                                   kernels::ConstMemorySpan target);

}  // namespace kimesh
