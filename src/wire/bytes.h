// Little-endian numbers in and out of bytes, whatever the machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/util/check.h"

namespace kimesh {

// Appends numbers.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  // The lowest `width` bytes of a number.
  void narrow(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  // Seven bits in a byte, whose eighth says that more follow (LEB128).
  void set(std::uint32_t bits) {
    for (; bits > 0x7f; bits >>= 7) number(static_cast<std::uint8_t>(bits | 0x80));
    number(static_cast<std::uint8_t>(bits));
  }
  template <std::floating_point T>
  void real(T value) {
    if constexpr (sizeof(T) == 4)
      number(std::bit_cast<std::uint32_t>(value));
    else
      number(std::bit_cast<std::uint64_t>(value));
  }
  void bytes(std::span<const std::byte> more) { out_.insert(out_.end(), more.begin(), more.end()); }

 private:
  std::vector<std::byte>& out_;
};

// Takes numbers from the front. Requires that `left` covers each read: a short read is a bug.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}
  template <std::unsigned_integral T>
  [[nodiscard]] T number() {
    KIMESH_CHECK(in_.size() >= sizeof(T), "the length was checked before reading");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= std::to_integer<std::uint64_t>(in_[i]) << (8 * i);
    in_ = in_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  [[nodiscard]] std::uint64_t narrow(std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= std::uint64_t{number<std::uint8_t>()} << (8 * i);
    return value;
  }
  // Nothing: the bytes end before the number, or it has over 32 bits.
  [[nodiscard]] std::optional<std::uint32_t> set() {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; left() > 0 && shift < 35; shift += 7) {
      const auto byte = number<std::uint8_t>();
      bits |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) != 0) continue;
      return bits <= 0xffffffff ? std::optional(static_cast<std::uint32_t>(bits)) : std::nullopt;
    }
    return std::nullopt;
  }
  template <std::floating_point T>
  [[nodiscard]] T real() {
    if constexpr (sizeof(T) == 4)
      return std::bit_cast<T>(number<std::uint32_t>());
    else
      return std::bit_cast<T>(number<std::uint64_t>());
  }
  [[nodiscard]] std::size_t left() const { return in_.size(); }
  [[nodiscard]] std::span<const std::byte> rest() const { return in_; }

 private:
  std::span<const std::byte> in_;
};

}  // namespace kimesh
