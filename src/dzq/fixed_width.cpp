#include "fixed_width.h"

#include <algorithm>
#include <string>

#include "kimesh/codec/difference.h"
#include "message.h"

namespace kimesh::dzq {

std::size_t fixed_bytes(const rans::Elements& elements) {
  const std::size_t count = elements.indices.size();
  std::size_t bytes = (count + 1) / 2 + count;
  std::uint32_t next = 0;
  for (const std::uint32_t index : elements.indices) {
    bytes += (index - next) / kGapMax;
    next = index + 1;
  }
  return bytes;
}

void write_fixed(const rans::Elements& elements, std::vector<std::byte>& bytes) {
  const std::size_t count = elements.marks.size();
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint32_t next = i + 1 < count ? elements.marks[i + 1] : 0;
    bytes.push_back(static_cast<std::byte>(elements.marks[i] | next << 4));
  }
  std::uint32_t next = 0;
  for (const std::uint32_t index : elements.indices) {
    const std::uint32_t gap = index - next;
    bytes.insert(bytes.end(), gap / kGapMax, std::byte{kGapMax});
    bytes.push_back(static_cast<std::byte>(gap % kGapMax));
    next = index + 1;
  }
}

Status read_fixed(std::span<const std::byte> bytes, std::size_t count, std::size_t size,
                  rans::Elements& elements) {
  const std::size_t value_bytes = count / 2 + count % 2;
  if (bytes.size() < value_bytes + count) return malformed("values and gaps that are cut");
  if (count % 2 != 0 && std::to_integer<unsigned>(bytes[value_bytes - 1]) >= 16)
    return malformed("half a byte that is not 0");
  const std::span<const std::byte> gaps = bytes.subspan(value_bytes);
  elements.marks.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    elements.marks[i] = std::to_integer<std::uint32_t>(bytes[i / 2]) >> (4 * (i % 2)) & 15;
  elements.indices.resize(count);
  std::uint64_t next = 0;
  std::size_t found = 0;
  for (const std::byte gap : gaps) {
    next += std::to_integer<std::uint32_t>(gap);
    if (gap == std::byte{kGapMax}) continue;
    if (found == count) return malformed("more gaps than values");
    elements.indices[found++] = static_cast<std::uint32_t>(next++);
  }
  if (found < count || gaps.back() == std::byte{kGapMax}) return malformed("gaps without an end");
  if (next > size) return malformed("an index past the last of " + std::to_string(size));
  return ok_status();
}

}  // namespace kimesh::dzq
