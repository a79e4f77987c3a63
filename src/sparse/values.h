// The values of a sparse message, in the format that its first byte names.
//
//   float32   f32 each
//   float16   i8 exponent e; binary16 each, stands for code · 2^e
//   bfloat16  the upper half of a float32 each
//   int4      f32 lowest; then blocks of 64 values, the last may be shorter: u16 step, the upper
//             half of a float32, and 4 bits a value, the first value in the lower half of its byte:
//             bit 3 is the sign, the others q; stands for ± (lowest + q · step)
//
// Every value decodes exactly but for int4's one addition, and to a finite number. Bits that no
// value has are 0.
#pragma once

#include <span>
#include <vector>

#include "entry_format.h"
#include "kimesh/codec/setting.h"
#include "kimesh/kernels/collect.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Bytes of `count` values, with what precedes them.
[[nodiscard]] std::size_t value_bytes(ValueFormat format, std::size_t count);

// Writes the values of the entries behind `bytes`. The entries' values become what is decoded;
// with `drop_zeros` an entry whose value becomes 0 goes, and is not written. Finite values only.
void write_values(ValueFormat format, Rounding rounding, bool drop_zeros, kernels::Entries& entries,
                  std::vector<std::byte>& bytes);

// Fills `values` with what the bytes decode to. Requires value_bytes of them. Errors: Malformed.
[[nodiscard]] Status read_values(ValueFormat format, std::span<const std::byte> bytes,
                                 std::span<float> values);

}  // namespace kimesh
