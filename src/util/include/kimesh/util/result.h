// How kimesh says that something outside of it went wrong: a value, never an exception.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "kimesh/util/check.h"

namespace kimesh {

// The closed list of what a caller can act on. The sentence in Error::message is for people.
enum class ErrorCode {
  kMalformed,  // bytes that no correct peer sends
  kUserInput,  // the user's file or argument is wrong: exit code 2
  kIo,         // a file or disk fails
  kNetwork,    // an address cannot be used, a peer cannot be reached
  kNotFinite,  // NaN or infinity in a gradient or a message
};

struct Error {
  ErrorCode code;
  std::string message;  // one clear sentence
};

// Either a T or an Error. T may be move-only. Use `Status` for no value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : value_(std::move(error)) {}  // NOLINT: so is an error

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() {
    KIMESH_CHECK(ok(), "value() of an error: " + std::get<Error>(value_).message);
    return std::get<T>(value_);
  }
  [[nodiscard]] const T& value() const {
    KIMESH_CHECK(ok(), "value() of an error: " + std::get<Error>(value_).message);
    return std::get<T>(value_);
  }
  [[nodiscard]] const Error& error() const {
    KIMESH_CHECK(!ok(), "error() of a value");
    return std::get<Error>(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }

 private:
  std::variant<T, Error> value_;
};

using Status = Result<std::monostate>;
inline Status ok_status() {
  return std::monostate{};
}

}  // namespace kimesh
