// The formats of the values of a sparse message.
//
//   float32   f32 each
//   float16   i8 exponent e, then binary16 each; a value is code · 2^e
//   bfloat16  the upper half of a float32 each
//   int4      f32 lowest, then blocks of 64 values, the last perhaps shorter: u16 step (the upper
//             half of a float32), then 4 bits a value, the low half of a byte first: bit 3 is the
//             sign, the others q; a value is ± (lowest + q · step)
//
// Every value decodes to a finite number, and exactly, but for the one addition of int4. Unused
// bits are 0.
#pragma once

#include <span>
#include <vector>

#include "entry_format.h"
#include "kimesh/codec/setting.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Bytes of `count` values, scales included.
[[nodiscard]] std::size_t value_bytes(ValueFormat format, std::size_t count);

// Appends the values of the entries to `bytes`. The entries' values become what the far side
// decodes; with `drop_zeros` an entry whose value is rounded to 0 is removed and not written.
// Requires finite values.
void write_values(ValueFormat format, Rounding rounding, bool drop_zeros, kernels::Entries& entries,
                  std::vector<std::byte>& bytes);

// Decodes `values` from exactly value_bytes(format, values.size()) bytes. Errors: Malformed.
[[nodiscard]] Status read_values(ValueFormat format, std::span<const std::byte> bytes,
                                 std::span<float> values);

}  // namespace kimesh
