#include "kimesh/util/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace kimesh {
namespace {

std::uint64_t digest(const void* data, std::size_t size) {
  const std::uint64_t value = XXH3_64bits(data, size);
  return value == 0 ? 1 : value;
}

}  // namespace

std::uint64_t digest_bytes(std::span<const std::byte> bytes) {
  return digest(bytes.data(), bytes.size());
}

std::uint64_t digest_text(std::string_view text) {
  return digest(text.data(), text.size());
}

std::uint64_t digest_floats(std::span<const float> values) {
  return digest(values.data(), values.size_bytes());
}

std::string digest_name(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace kimesh
