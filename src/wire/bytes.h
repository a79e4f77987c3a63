// Little-endian numbers in and out of bytes, whatever the machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "kimesh/util/check.h"

namespace kimesh {

// The number that has the bytes of a float or a double.
template <std::floating_point T>
using BitsOf = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint64_t>;

// Appends numbers.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}
  template <std::unsigned_integral T>
  void number(T value) {
    narrow(value, sizeof(T));
  }
  // The lowest `width` bytes of a number.
  void narrow(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  template <std::floating_point T>
  void real(T value) {
    number(std::bit_cast<BitsOf<T>>(value));
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
    return static_cast<T>(narrow(sizeof(T)));
  }
  // A number of `width` bytes.
  [[nodiscard]] std::uint64_t narrow(std::size_t width) {
    KIMESH_CHECK(in_.size() >= width, "the length was checked before reading");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= std::to_integer<std::uint64_t>(in_[i]) << (8 * i);
    in_ = in_.subspan(width);
    return value;
  }
  template <std::floating_point T>
  [[nodiscard]] T real() {
    return std::bit_cast<T>(number<BitsOf<T>>());
  }
  [[nodiscard]] std::size_t left() const { return in_.size(); }
  [[nodiscard]] std::span<const std::byte> rest() const { return in_; }

 private:
  std::span<const std::byte> in_;
};

}  // namespace kimesh
