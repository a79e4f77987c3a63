// Keys of encrypted links: CURVE of ZeroMQ (rfc.zeromq.org/spec/26), Curve25519 with a key pair for
// each node. Keys are texts in Z85, kCurveKeyChars each.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

inline constexpr std::size_t kCurveKeyChars = 40;  // 32 bytes in Z85

struct CurvePair {
  std::string public_key, secret_key;
};

// What a node needs to encrypt its links.
struct CurveKeys {
  CurvePair own;
  // The allow-list: the public keys of the nodes that may connect, and of those that are dialled,
  // by the nodes' names. Each key has one name.
  std::map<std::string, std::string> allowed;
};

// Errors: UserInput, where the ZeroMQ of this machine was built without CURVE. All functions here:
// thread any.
[[nodiscard]] Status has_curve();
// A new pair, from the system's source of randomness. Requires has_curve().
[[nodiscard]] CurvePair make_curve_pair();
// Errors: Malformed (`secret_key` is no key). Requires has_curve().
[[nodiscard]] Result<std::string> public_key_of(const std::string& secret_key);
// Whether `text` is a key in Z85.
[[nodiscard]] bool is_curve_key(const std::string& text);

}  // namespace kimesh
