// The bytes of an object's state, for checkpoints: numbers little-endian, lists behind their
// length, fields in the order in which their class names them. A class names its fields once, for
// both directions:
//
//   class Median {
//    public:
//     template <typename Self>
//     static auto state_of(Self& self) { return std::tie(self.values_, self.next_); }
//     bool is_sound() const { return next_ < values_.size(); }  // where not every value is
//    ...
//   };
//
// What is not a number, an enum, a list of these or such a class is written by hand.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

template <typename T>
concept HasStateFields = requires(T& object) {
  std::remove_const_t<T>::state_of(object);
};

// Writes over bytes that may hold an earlier state: memory that is there already is used again.
class StateWriter {
 public:
  // Keeps the first `begin` bytes, those of a writer that was paused. `out` outlives this.
  explicit StateWriter(std::vector<std::byte>& out, std::size_t begin = 0)
      : out_(out), size_(begin) {}
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;
  // Leaves nothing behind what was written.
  ~StateWriter() {
    if (!paused_) out_.resize(size_);
  }
  // Leaves the memory as it is for a writer that goes on behind the bytes returned.
  [[nodiscard]] std::size_t pause() {
    paused_ = true;
    return size_;
  }

  // So many bytes, for the caller to fill before the next call.
  [[nodiscard]] std::span<std::byte> room(std::size_t bytes);
  void bytes(std::span<const std::byte> more);

  template <typename T>
  requires std::is_arithmetic_v<T>
  void put(T value) { number(value); }
  template <typename T>
  requires std::is_enum_v<T>
  void put(T value) { number(static_cast<std::uint64_t>(value)); }
  template <typename Rep, typename Period>
  void put(std::chrono::duration<Rep, Period> value) {
    number(static_cast<std::int64_t>(value.count()));
  }
  void put(const std::string& text) {
    number(std::uint64_t{text.size()});
    bytes(std::as_bytes(std::span(text)));
  }
  template <typename T, std::size_t kSize>
  void put(const std::array<T, kSize>& values) {
    for (const T& value : values) put(value);
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    number(std::uint64_t{values.size()});
    for (const T& value : values) put(value);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    number(value.has_value());
    if (value) put(*value);
  }
  template <HasStateFields T>
  void put(const T& object) {
    std::apply([this](const auto&... field) { (put(field), ...); }, T::state_of(object));
  }

 private:
  template <typename T>
  void number(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      word(value ? 1 : 0, 1);
    } else if constexpr (std::is_floating_point_v<T>) {
      static_assert(sizeof(T) == 8, "doubles; floats are in vectors");
      word(std::bit_cast<std::uint64_t>(value), 8);
    } else {
      word(static_cast<std::uint64_t>(value), sizeof(T));
    }
  }
  void word(std::uint64_t value, std::size_t bytes);

  std::vector<std::byte>& out_;
  std::size_t size_;
  bool paused_ = false;
};

// Where the bytes of a state come from that is too large to be held beside what it fills.
class StateSource {
 public:
  StateSource() = default;
  virtual ~StateSource() = default;
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  [[nodiscard]] virtual std::size_t left() const = 0;
  // Fills `to` with the next bytes. False: it cannot. Requires as many to be left.
  [[nodiscard]] virtual bool read(std::span<std::byte> to) = 0;
};

// Takes a state from bytes that nobody vouches for. The first read that does not fit fails the
// reader; from then on values stay as they are, and finish() says so.
class StateReader {
 public:
  // `in`, or `source`, outlives this.
  explicit StateReader(std::span<const std::byte> in) : in_(in) {}
  explicit StateReader(StateSource& source) : source_(&source) {}

  // Fills `to` with the next bytes; fails the reader where there are fewer.
  void fill(std::span<std::byte> to);
  // Fails the reader where `fact` does not hold.
  void require(bool fact) { ok_ = ok_ && fact; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return source_ ? source_->left() : in_.size(); }
  // Errors: Malformed, where a read failed or bytes are left.
  [[nodiscard]] Status finish() const;

  template <typename T>
  requires std::is_arithmetic_v<T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::uint64_t word = number(1);
      require(word <= 1);
      if (ok_) value = word == 1;
    } else if constexpr (std::is_floating_point_v<T>) {
      const std::uint64_t word = number(8);
      if (ok_) value = std::bit_cast<double>(word);
    } else {
      const std::uint64_t word = number(sizeof(T));
      if (ok_) value = static_cast<T>(word);
    }
  }
  // A class that holds an enum looks at it in is_sound().
  template <typename T>
  requires std::is_enum_v<T>
  void get(T& value) {
    const std::uint64_t word = number(8);
    require(word <= 0xff);
    if (ok_) value = static_cast<T>(word);
  }
  template <typename Rep, typename Period>
  void get(std::chrono::duration<Rep, Period>& value) {
    const auto count = static_cast<std::int64_t>(number(8));
    if (ok_) value = std::chrono::duration<Rep, Period>(static_cast<Rep>(count));
  }
  void get(std::string& text);
  template <typename T, std::size_t kSize>
  void get(std::array<T, kSize>& values) {
    for (T& value : values) get(value);
  }
  template <typename T>
  void get(std::vector<T>& values) {
    const std::uint64_t size = number(8);
    require(size <= left());  // each takes a byte or more
    if (!ok_) return;
    std::vector<T> read(static_cast<std::size_t>(size));
    for (T& value : read)
      if (ok_) get(value);
    if (ok_) values = std::move(read);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    if (!ok_) return;
    value.reset();
    if (!has_value) return;
    T read{};
    get(read);
    if (ok_) value = std::move(read);
  }
  template <HasStateFields T>
  void get(T& object) {
    std::apply([this](auto&... field) { (get(field), ...); }, T::state_of(object));
    if constexpr (requires { object.is_sound(); })
      if (ok_) require(object.is_sound());
  }

 private:
  [[nodiscard]] std::uint64_t number(std::size_t bytes);

  std::span<const std::byte> in_;
  StateSource* source_ = nullptr;  // in place of `in_`
  bool ok_ = true;
};

}  // namespace kimesh
