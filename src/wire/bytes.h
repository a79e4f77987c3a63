// Little-endian numbers in and out of bytes, whatever the machine.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
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
  [[nodiscard]] double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  [[nodiscard]] std::size_t left() const { return in_.size(); }
  [[nodiscard]] std::span<const std::byte> rest() const { return in_; }

 private:
  std::span<const std::byte> in_;
};

}  // namespace kimesh
