#include "kimesh/util/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kimesh/util/check.h"
#include "kimesh/util/digest_chunk.h"

namespace kimesh {
namespace {

std::uint64_t not_zero(std::uint64_t value) {
  return value == 0 ? 1 : value;
}

std::uint64_t digest(const void* data, std::size_t size) {
  return not_zero(XXH3_64bits(data, size));
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

struct PiecewiseDigest::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

PiecewiseDigest::PiecewiseDigest() : state_(std::make_unique<State>()) {
  KIMESH_CHECK(state_->xxh && XXH3_64bits_reset(state_->xxh.get()) == XXH_OK,
               "memory for a digest");
}
PiecewiseDigest::~PiecewiseDigest() = default;

void PiecewiseDigest::add(std::span<const std::byte> bytes) {
  static_cast<void>(XXH3_64bits_update(state_->xxh.get(), bytes.data(), bytes.size()));
}

std::uint64_t PiecewiseDigest::value() const {
  return not_zero(XXH3_64bits_digest(state_->xxh.get()));
}

std::string digest_name(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace kimesh
