// The payload of a sparse message, in the formats that its codec's keys name.
//
//   sparse   u32 indices, ascending, then float32 values
//   packed   empty where no element is sent, else
//            format  u8: bits 0-1 are the format of the values, bits 2-3 that of the indices
//                    (entry_format.h); all other bits are 0; never raw indices with float32 values
//            count   the number of entries, at least 1, in LEB128: 7 bits a byte, the lowest first,
//                    bit 7 set where more bytes follow; the last byte is not 0
//            indices as indices.h
//            values  as values.h
#pragma once

#include <span>
#include <vector>

#include "entry_format.h"
#include "kimesh/codec/codec.h"

namespace kimesh {

// Bytes of a message with `count` of `size` elements: exact where no value is rounded to 0 and
// indices are not coded, else an upper bound. Monotonic in count. Requires count <= size < 2^32.
[[nodiscard]] std::size_t sparse_bytes(EntryFormat format, std::size_t count, std::size_t size);

// The most elements, at most `size`, whose upper bound is within `budget_bytes`.
[[nodiscard]] std::uint32_t sparse_that_fits(EntryFormat format, std::size_t budget_bytes,
                                             std::size_t size);

struct Written {
  Form form = Form::kSparse;
  std::vector<std::byte> bytes;
};

// Writes a message with these entries. The entries become what the far side decodes: values are
// rounded, and entries whose value becomes 0 are removed.
[[nodiscard]] Written write_sparse(EntryFormat format, Rounding rounding, std::size_t size,
                                   kernels::Entries& entries);

// Reads a count from the front of `bytes`, and moves `bytes` behind it. Errors: Malformed, where it
// is not written as above or is over `most`.
[[nodiscard]] Result<std::uint32_t> read_count(std::span<const std::byte>& bytes, std::size_t most);

// Decodes a packed message for a vector of `size` elements. Errors: Malformed.
[[nodiscard]] Result<kernels::Entries> read_packed(std::span<const std::byte> bytes,
                                                   std::size_t size);

}  // namespace kimesh
