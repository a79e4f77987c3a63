// The fixed-width body of a dzq message: `values` and `gaps` of the grammar in message.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kimesh/rans/rans.h"

namespace kimesh::dzq {

// Bytes of the body.
[[nodiscard]] std::size_t fixed_bytes(const rans::Elements& elements);

// Appends fixed_bytes(elements) bytes. Requires levels of at most 7.
void write_fixed(const rans::Elements& elements, std::vector<std::byte>& bytes);

// Reads `count` elements of a vector of `size`. Requires count >= 1. Errors: Malformed.
[[nodiscard]] Status read_fixed(std::span<const std::byte> bytes, std::size_t count,
                                std::size_t size, rans::Elements& elements);

}  // namespace kimesh::dzq
