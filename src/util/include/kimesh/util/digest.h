// Digests that both ends compare: of bytes and of the exact bits of float vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kimesh {

// XXH3, 64 bits. Not cryptographic: they find accidents. None is ever 0, which means "no digest" on
// the wire.
[[nodiscard]] std::uint64_t digest_bytes(std::span<const std::byte> bytes);
[[nodiscard]] std::uint64_t digest_text(std::string_view text);
// Of the bit patterns: -0 and +0 differ. XXH3 of chunks, combined so that a GPU can take all of
// them at once: digest_chunk.h.
[[nodiscard]] std::uint64_t digest_floats(std::span<const float> values);
// Sixteen hexadecimal digits.
[[nodiscard]] std::string digest_name(std::uint64_t digest);

}  // namespace kimesh
