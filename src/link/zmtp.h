// Bytes that ZeroMQ adds on a TCP connection (rfc.zeromq.org/spec/37), plain (NULL) or encrypted
// (CURVE, rfc.zeromq.org/spec/26).
#pragma once

#include <cstddef>

namespace kimesh {

// What a frame has besides its content: flags and length; encrypted, it is the content of a command
// with a name, a nonce, an authenticator and flags of its own.
constexpr std::size_t zmtp_overhead_bytes(std::size_t frame_bytes, bool is_encrypted) {
  constexpr std::size_t kShort = 2, kLong = 9, kShortMax = 255;
  constexpr std::size_t kMessageCommand = 8 + 8 + 16 + 1;
  const std::size_t inside = is_encrypted ? kMessageCommand : 0;
  return inside + (frame_bytes + inside > kShortMax ? kLong : kShort);
}

// What an end sends before the first frame: the greeting, and READY; encrypted, the DEALER sends
// HELLO and INITIATE, and the ROUTER WELCOME and READY.
inline std::size_t zmtp_greeting_bytes(bool is_encrypted, bool is_router) {
  constexpr std::size_t kGreeting = 64, kReady = 2 + 41, kHello = 2 + 200, kInitiate = 9 + 292,
                        kWelcome = 2 + 168, kCurveReady = 2 + 65;
  const std::size_t of_keys = is_router ? kWelcome + kCurveReady : kHello + kInitiate;
  return kGreeting + (is_encrypted ? of_keys : kReady);
}

}  // namespace kimesh
