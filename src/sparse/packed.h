// A sparse message in the formats of a setting: which form it takes, how long it is, its bytes.
//
//   sparse   u32 indices, ascending, then float32 values: raw indices with float32 values
//   packed   nothing, or
//            format  u8: bits 0-1 the format of the values, bits 2-3 that of the indices, both as
//                    in formats.h; the others 0; not that of the form `sparse`
//            count   of entries, LEB128: 7 bits a byte from the lowest up, bit 7 where more follow,
//                    the last byte is not 0; at least 1
//            indices in indices.h
//            values  in values.h
#pragma once

#include <span>
#include <vector>

#include "entry_format.h"
#include "kimesh/codec/codec.h"

namespace kimesh {

// Bytes of `count` of `size` elements: exact where none of them becomes 0 and indices are not
// coded, else at most so many. Grows with count. Requires count <= size < 2^32.
[[nodiscard]] std::size_t sparse_bytes(EntryFormat format, std::size_t count, std::size_t size);

// The most elements that surely take no more than `budget_bytes`, at most `size`.
[[nodiscard]] std::uint32_t sparse_that_fits(EntryFormat format, std::size_t budget_bytes,
                                             std::size_t size);

struct Written {
  Form form = Form::kSparse;
  std::vector<std::byte> bytes;
};

// The message that carries the entries. They become what the far side decodes: values are rounded,
// those that become 0 are gone.
[[nodiscard]] Written write_sparse(EntryFormat format, Rounding rounding, std::size_t size,
                                   kernels::Entries& entries);

// LEB128 as above.
[[nodiscard]] std::size_t count_bytes(std::size_t count);
void write_count(std::uint32_t count, std::vector<std::byte>& bytes);
// Takes it off the front of `bytes`. Errors: Malformed (not one that is written so, or over
// `most`).
[[nodiscard]] Result<std::uint32_t> read_count(std::span<const std::byte>& bytes, std::size_t most);

// What a packed message holds. Errors: Malformed.
[[nodiscard]] Result<kernels::Entries> read_packed(std::span<const std::byte> bytes,
                                                   std::size_t size);

}  // namespace kimesh
