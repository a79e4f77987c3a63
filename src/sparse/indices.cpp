#include "indices.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/rans/rans.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

struct EliasFano {
  unsigned low_bits;
  std::size_t upper_bits;  // bits of the unary part
  [[nodiscard]] std::size_t bytes(std::size_t count) const {
    return (count * low_bits + upper_bits + 7) / 8;
  }
};

EliasFano elias_fano(std::size_t count, std::size_t size) {
  EliasFano best{};
  for (unsigned l = 0; l < 32; ++l) {
    const EliasFano layout{l, count + ((size - 1) >> l)};
    if (l == 0 || layout.bytes(count) < best.bytes(count)) best = layout;
  }
  return best;
}

void set_bits(std::byte* bytes, std::size_t position, std::uint64_t bits) {
  for (std::size_t i = position / 8, shift = position % 8; bits != 0; ++i, shift = 0) {
    bytes[i] |= static_cast<std::byte>(bits << shift);
    bits >>= 8 - shift;
  }
}

// Reads `width` <= 32 bits from bit `position` on; bits behind the bytes are 0.
std::uint32_t bits_at(std::span<const std::byte> bytes, std::size_t position, unsigned width) {
  std::uint64_t word = 0;
  const std::size_t first = position / 8;
  if (first + sizeof(word) <= bytes.size())
    std::memcpy(&word, bytes.data() + first, sizeof(word));
  else if (first < bytes.size())
    std::memcpy(&word, bytes.data() + first, bytes.size() - first);
  return static_cast<std::uint32_t>(word >> position % 8 & ((std::uint64_t{1} << width) - 1));
}

Error out_of_order(std::size_t index) {
  return malformed("index " + std::to_string(index) + " is out of order");
}
Error out_of_range(std::size_t index, std::size_t size) {
  return malformed("index " + std::to_string(index) + " of " + std::to_string(size) + " elements");
}

// Reads the unary part; its upper parts ascend by construction. Returns false where the number of
// ones is not the number of indices.
bool read_upper(std::span<const std::byte> bytes, std::size_t begin, std::size_t end,
                std::span<std::uint32_t> upper) {
  std::size_t found = 0;
  for (std::size_t at = begin; at < end;) {
    const auto width = static_cast<unsigned>(std::min<std::size_t>(32, end - at));
    for (std::uint32_t word = bits_at(bytes, at, width); word != 0; word &= word - 1) {
      if (found == upper.size()) return false;
      const std::size_t position = at - begin + static_cast<std::size_t>(std::countr_zero(word));
      upper[found] = static_cast<std::uint32_t>(position - found);
      ++found;
    }
    at += width;
  }
  return found == upper.size();
}

}  // namespace

std::size_t raw_index_bytes(std::size_t count) {
  return count * sizeof(std::uint32_t);
}

std::size_t packed_index_bytes(std::size_t count, std::size_t size) {
  return elias_fano(count, size).bytes(count);
}

void write_raw_indices(std::span<const std::uint32_t> indices, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + indices.size_bytes());
  std::memcpy(bytes.data() + begin, indices.data(), indices.size_bytes());
}

void write_packed_indices(std::span<const std::uint32_t> indices, std::size_t size,
                          std::vector<std::byte>& bytes) {
  const EliasFano layout = elias_fano(indices.size(), size);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + layout.bytes(indices.size()));
  std::byte* out = bytes.data() + begin;
  const std::uint64_t low_mask = (std::uint64_t{1} << layout.low_bits) - 1;
  const std::size_t unary = indices.size() * layout.low_bits;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    set_bits(out, i * layout.low_bits, indices[i] & low_mask);
    set_bits(out, unary + i + (indices[i] >> layout.low_bits), 1);
  }
}

bool write_coded_indices(std::span<const std::uint32_t> indices, std::size_t size,
                         std::vector<std::byte>& bytes) {
  if (size > rans::kSizeMax) return false;
  const std::size_t begin = bytes.size();
  rans::Scratch scratch;
  bytes.push_back(std::byte{0});
  const unsigned state_bytes = rans::encode(indices, {}, size, scratch, bytes);
  bytes[begin] = static_cast<std::byte>(state_bytes);
  const bool shorter = bytes.size() - begin < packed_index_bytes(indices.size(), size);
  if (!shorter) bytes.resize(begin);
  return shorter;
}

Status read_raw_indices(std::span<const std::byte> bytes, std::size_t size,
                        std::span<std::uint32_t> indices) {
  std::size_t next = 0;  // the smallest index that may follow
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t index = read<std::uint32_t>(bytes, i);
    if (index < next) return out_of_order(index);
    if (index >= size) return out_of_range(index, size);
    indices[i] = static_cast<std::uint32_t>(index);
    next = index + 1;
  }
  return ok_status();
}

Status read_packed_indices(std::span<const std::byte> bytes, std::size_t size,
                           std::span<std::uint32_t> indices) {
  const EliasFano layout = elias_fano(indices.size(), size);
  KIMESH_CHECK(bytes.size() == layout.bytes(indices.size()), "the bytes of all indices");
  const std::size_t unary = indices.size() * layout.low_bits, end = unary + layout.upper_bits;
  if (!read_upper(bytes, unary, end, indices))
    return malformed("not as many upper parts as indices");
  if (bits_at(bytes, end, 8) != 0) return malformed("bits behind the last index");
  std::size_t next = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t low = bits_at(bytes, i * layout.low_bits, layout.low_bits);
    const std::size_t index = std::size_t{indices[i]} << layout.low_bits | low;
    if (index < next) return out_of_order(index);
    if (index >= size) return out_of_range(index, size);
    indices[i] = static_cast<std::uint32_t>(index);
    next = index + 1;
  }
  return ok_status();
}

Status read_coded_indices(std::span<const std::byte> bytes, std::size_t size,
                          std::span<std::uint32_t> indices) {
  if (bytes.empty() || size > rans::kSizeMax) return malformed("no coded indices");
  const auto state_bytes = std::to_integer<unsigned>(bytes.front());
  if (state_bytes < 1 || state_bytes > sizeof(std::uint64_t))
    return malformed("a state of " + std::to_string(state_bytes) + " bytes");
  rans::Elements elements;
  const rans::DecodeParameters parameters{indices.size(), size, false, state_bytes};
  if (Status decoded = rans::decode(bytes.subspan(1), parameters, elements); !decoded)
    return malformed(decoded.error().message);
  std::ranges::copy(elements.indices, indices.begin());
  return ok_status();
}

}  // namespace kimesh
