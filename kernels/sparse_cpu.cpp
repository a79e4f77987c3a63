#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/sparse.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

// Numbers that are copied out of the bytes stay in the first-level cache while loops that every
// compiler vectorises walk them.
constexpr std::size_t kChunk = 1024;

template <typename T>
class Chunk {
 public:
  Chunk(std::span<const std::byte> bytes, std::size_t begin)
      : size_(std::min(kChunk, bytes.size() / sizeof(T) - begin)) {
    std::memcpy(numbers_.data(), bytes.data() + begin * sizeof(T), size_ * sizeof(T));
  }
  [[nodiscard]] std::span<const T> span() const { return std::span(numbers_).first(size_); }

 private:
  std::size_t size_;
  std::array<T, kChunk> numbers_;
};

bool is_finite(std::uint32_t bits) {
  constexpr std::uint32_t kInfinityBits = 0x7f800000;
  return (bits & 0x7fffffff) < kInfinityBits;
}

}  // namespace

std::optional<std::size_t> first_out_of_order(std::span<const std::byte> indices,
                                              std::size_t size) {
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  std::size_t next = 0;  // the least that may follow
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const Chunk<std::uint32_t> chunk(indices, begin);
    const auto span = chunk.span();
    std::uint32_t falls = 0;
    for (std::size_t i = 1; i < span.size(); ++i) falls |= span[i] <= span[i - 1] ? 1 : 0;
    const bool in_order = falls == 0 && span.front() >= next && span.back() < size;
    if (!in_order)
      for (std::size_t i = 0; i < span.size(); next = std::size_t{span[i++]} + 1)
        if (span[i] < next || span[i] >= size) return begin + i;
    next = std::size_t{span.back()} + 1;
  }
  return std::nullopt;
}

std::optional<std::size_t> first_value_not_finite(std::span<const std::byte> values) {
  const std::size_t count = values.size() / sizeof(float);
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const Chunk<std::uint32_t> chunk(values, begin);
    std::uint32_t bad = 0;
    for (const std::uint32_t bits : chunk.span()) bad |= is_finite(bits) ? 0 : 1;
    if (bad == 0) continue;
    const auto found = std::ranges::find_if_not(chunk.span(), is_finite);
    return begin + static_cast<std::size_t>(found - chunk.span().begin());
  }
  return std::nullopt;
}

void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                std::span<float> estimate) {
  constexpr std::size_t kAhead = 32;
  KIMESH_CHECK(indices.size() == values.size(), "a value for each index");
  const std::size_t count = indices.size() / sizeof(std::uint32_t);
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const Chunk<std::uint32_t> places(indices, begin);
    const Chunk<float> chunk(values, begin);
    const auto at = places.span();
    for (std::size_t i = 0; i < std::min(kAhead, at.size()); ++i)
      __builtin_prefetch(&estimate[at[i]], 1);
    for (std::size_t i = 0; i < at.size(); ++i) {
      __builtin_prefetch(&estimate[at[std::min(i + kAhead, at.size() - 1)]], 1);
      estimate[at[i]] += chunk.span()[i];
    }
  }
}

}  // namespace kimesh::kernels
