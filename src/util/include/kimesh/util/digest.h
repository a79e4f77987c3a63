// Digests of bytes and of the exact bits of float vectors, which both ends of a channel compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kimesh {

// XXH3 of the bytes, 64 bits. It finds accidents and withstands no attacker. It is never 0, which
// means "no digest" on the wire.
[[nodiscard]] std::uint64_t digest_bytes(std::span<const std::byte> bytes);
[[nodiscard]] std::uint64_t digest_text(std::string_view text);
// The digest of the bit patterns of `values`, of any length: -0 and +0 differ. It combines XXH3
// hashes of chunks, so that a GPU can take all chunks at once (digest_chunk.h). It is never 0.
[[nodiscard]] std::uint64_t digest_floats(std::span<const float> values);
// digest_bytes of bytes that come in pieces.
class PiecewiseDigest {
 public:
  PiecewiseDigest();
  ~PiecewiseDigest();
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// `digest` as sixteen hexadecimal digits.
[[nodiscard]] std::string digest_name(std::uint64_t digest);

}  // namespace kimesh
