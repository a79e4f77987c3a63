#include "kimesh/util/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kimesh/util/digest_chunk.h"

namespace kimesh {
namespace {

std::uint64_t digest(const void* data, std::size_t size) {
  const std::uint64_t value = XXH3_64bits(data, size);
  return value == 0 ? 1 : value;
}

static_assert(std::endian::native == std::endian::little, "the secret's words lie as bytes");

std::uint64_t hash_chunk(const float* chunk) {
  return XXH3_64bits_withSecret(chunk, kDigestChunkFloats * sizeof(float), kDigestSecret.data(),
                                sizeof(kDigestSecret));
}

}  // namespace

std::uint64_t digest_bytes(std::span<const std::byte> bytes) {
  return digest(bytes.data(), bytes.size());
}

std::uint64_t digest_text(std::string_view text) {
  return digest(text.data(), text.size());
}

std::uint64_t digest_floats(std::span<const float> values) {
  std::uint64_t sum = 0, chunk = 0;
  std::span<const float> rest = values;
  for (; rest.size() >= kDigestChunkFloats; rest = rest.subspan(kDigestChunkFloats))
    sum += digest_place(hash_chunk(rest.data()), chunk++);
  if (!rest.empty()) {
    std::array<float, kDigestChunkFloats> last{};
    std::ranges::copy(rest, last.begin());
    sum += digest_place(hash_chunk(last.data()), chunk);
  }
  return digest_finish(sum, values.size());
}

std::string digest_name(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace kimesh
