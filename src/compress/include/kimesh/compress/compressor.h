// Messages of channels, wherever their floats lie:
//   advance  (target, estimate, setting) -> bytes; the estimate becomes what the far side will hold
//   apply    (bytes, estimate)           -> the estimate; the same bits as at the sender
// All numbers in the bytes are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kimesh/codec/allocation.h"
#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Writes the message that brings `estimate` nearer to `target`. A dense message assigns; `estimate`
// may be empty then, where no estimate is kept. All others add, with one rounding per operation,
// what apply will add. A budget in bytes is never passed, not by one byte; where a codec sizes its
// messages itself, they never take more bytes than a dense one, which is sent instead.
// Pieces cover the vector in order. Requires a setting in its ranges and a budget in bytes of at
// least Codec::bytes_min. Errors: NotFinite, with the index; the estimate is untouched then.
[[nodiscard]] Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                                       std::span<const Piece> pieces, const Setting& setting,
                                       CompressScratch& scratch, bool with_curve = false);

// The same wherever the floats lie; elsewhere than on the host for codecs whose traits say
// on_devices. The bytes and the estimate are the same in every memory; energies and curves may
// differ in their last digits. Errors: also Io, when a device failed; then nothing on it is worth
// anything.
[[nodiscard]] Result<Advanced> advance(kernels::Memory& memory, kernels::ConstMemorySpan target,
                                       kernels::MemorySpan estimate, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve = false);

// Whether `bytes` are a message for `size` elements. Errors: Malformed (a form that no codec
// writes; a length, count, symbol, index or table that no correct sender writes, values not
// finite).
[[nodiscard]] Status validate(Form form, std::span<const std::byte> bytes, std::size_t size);

// Adds (dense: assigns) what `bytes` decode to. Errors: as validate; the estimate is untouched
// then.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate);
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                           kernels::MemorySpan estimate);

}  // namespace kimesh
