// Numbers in LEB128: seven bits in a byte, the lowest first. Bit 7 says that more bytes follow. A
// number is written in as few bytes as possible.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kimesh {

// Bytes of a number in LEB128.
[[nodiscard]] constexpr std::size_t leb128_bytes(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

inline void put_leb128(std::uint64_t value, std::vector<std::byte>& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value % 0x80 | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

// Takes a number under 2^35 from the front of `bytes`. Returns nothing, and leaves `bytes` as they
// are, where they begin with no such number or with one in more bytes than it needs.
[[nodiscard]] inline std::optional<std::uint64_t> take_leb128(std::span<const std::byte>& bytes) {
  constexpr std::size_t kBytesMax = 5;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < kBytesMax; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    value |= byte % 0x80 << 7 * i;
    if (byte >= 0x80) continue;
    if (byte == 0 && i > 0) return std::nullopt;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

}  // namespace kimesh
