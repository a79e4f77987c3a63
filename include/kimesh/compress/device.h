// Messages of channels whose floats lie in a GPU's memory. The bytes are those of compressor.h: the
// device selects, the host codes, and what a message adds is the same, bit for bit, on both.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/memory.h"
#include "kimesh/compress/compressor.h"

namespace kimesh {

// As advance of compressor.h, for compressors whose traits say on_devices. Energies may differ from
// the host's in their last digits. A curve is of all elements, with each piece's energy as its
// histogram tells it. Errors: also Io, when the device failed; then nothing on it is worth
// anything.
[[nodiscard]] Result<Advanced> advance(kernels::Memory& device, kernels::MemorySpan target,
                                       kernels::MemorySpan estimate, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve = false);

// As apply of compressor.h, for any form. Queued when it returns.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& device,
                           kernels::MemorySpan estimate);

}  // namespace kimesh
