// What codecs share beside their contract.
#pragma once

#include <span>
#include <string>

#include "difference.h"
#include "kimesh/compress/codec.h"
#include "kimesh/compress/compressor.h"

namespace kimesh {

// As advance of compressor.h, wherever the floats lie.
[[nodiscard]] Result<Advanced> advance(Difference& difference, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve);

// All of the target in float32, assigned.
[[nodiscard]] Result<Advanced> advance_dense(const AdvanceJob& job);

// Adds scratch.entries to the estimate and fills in the energies and what was kept. `is_whole`:
// each value is the whole difference there. Requires the energies of the whole vector before.
[[nodiscard]] Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies,
                                     Advanced& result, bool is_whole = false);

// What a payload holds. Errors: Malformed.
[[nodiscard]] Result<Content> decode(Form form, std::span<const std::byte> payload,
                                     std::size_t size);

// Adds (AssignFloats: assigns) content that was decoded for a vector of this size.
void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate);

}  // namespace kimesh
