// The messages of channels, in any memory:
//   advance  makes the bytes of a message from (target, estimate, setting), and moves the estimate
//            to what the far side will hold
//   apply    decodes the bytes at the far side, whose estimate gets the same bits
// All numbers in the bytes are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kimesh/codec/allocation.h"
#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/kernels/vector_math.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Makes the message that moves `estimate` towards `target`. A dense message assigns, and `estimate`
// may be empty where none is kept. All other messages add what apply will add, with one rounding
// per operation. A budget in bytes is never passed. Where a codec sizes its messages itself and one
// would be longer than a dense message, the dense one is made. Shapes: target, estimate [n]
// float32; pieces cover them in order. Requires a setting in its ranges; a budget in bytes is at
// least Codec::bytes_min. Errors: NotFinite, with the index; the estimate is untouched then.
// Thread: one at a time for each scratch.
[[nodiscard]] Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                                       std::span<const Piece> pieces, const Setting& setting,
                                       CompressScratch& scratch, bool with_curve = false);

// The same in any memory; memory other than the host's requires a codec whose traits say
// on_devices. The bytes and the estimate are the same in every memory; energies and curves may
// differ in their last digits. Errors: also Io, where a device failed; its contents are lost then.
[[nodiscard]] Result<Advanced> advance(kernels::Memory& memory, kernels::ConstMemorySpan target,
                                       kernels::MemorySpan estimate, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve = false);

// Makes the dense message of the sum of the terms, on the host, for a channel that keeps no
// estimate: as advance of a target that holds the sum, which this makes in the message alone.
// Requires a term; all have one size. Errors: NotFinite, with the index.
[[nodiscard]] Result<Advanced> advance_sum(std::span<const kernels::SumTerm> terms);

// Checks that `bytes` are a payload for `size` elements. Errors: Malformed, for a form that no
// codec writes, and for lengths, counts, symbols, indices or values that no correct sender writes.
[[nodiscard]] Status validate(Form form, std::span<const std::byte> bytes, std::size_t size);

// Adds what `bytes` decode to; a dense payload is assigned. Errors: as validate; the estimate is
// untouched then.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate);
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                           kernels::MemorySpan estimate);

}  // namespace kimesh
