#include "kimesh/link/curve.h"

#include <fmt/format.h>
#include <zmq.h>

#include <array>
#include <cstdint>

namespace kimesh {

Status has_curve() {
  if (zmq_has("curve") == 1) return ok_status();
  int major = 0, minor = 0, patch = 0;
  zmq_version(&major, &minor, &patch);
  return Error{ErrorCode::kUserInput,
               fmt::format("the ZeroMQ of this machine ({}.{}.{}) cannot encrypt: install a libzmq "
                           "that is built with CURVE, as Debian's is, or write security: none in "
                           "the topology file",
                           major, minor, patch)};
}

CurvePair make_curve_pair() {
  std::array<char, kCurveKeyChars + 1> public_key{}, secret_key{};
  const int rc = zmq_curve_keypair(public_key.data(), secret_key.data());
  KIMESH_CHECK(rc == 0, "has_curve() was asked before");
  return {public_key.data(), secret_key.data()};
}

Result<std::string> public_key_of(const std::string& secret_key) {
  std::array<char, kCurveKeyChars + 1> public_key{};
  if (!is_curve_key(secret_key)) return Error{ErrorCode::kMalformed, "it is no key"};
  const int rc = zmq_curve_public(public_key.data(), secret_key.c_str());
  KIMESH_CHECK(rc == 0, "has_curve() was asked before");
  return std::string(public_key.data());
}

bool is_curve_key(const std::string& text) {
  std::array<std::uint8_t, kCurveKeyChars / 5 * 4> bytes{};
  const bool is_whole = text.size() == kCurveKeyChars && text.find('\0') == std::string::npos;
  return is_whole && zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

}  // namespace kimesh
