#include "packed.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "indices.h"
#include "kimesh/codec/difference.h"
#include "kimesh/util/check.h"
#include "kimesh/util/leb128.h"
#include "values.h"

namespace kimesh {
namespace {

std::byte format_byte(EntryFormat format) {
  return static_cast<std::byte>(static_cast<unsigned>(format.values) |
                                static_cast<unsigned>(format.indices) << 2);
}

// The most bytes that the indices take.
std::size_t index_bytes(IndexFormat indices, std::size_t count, std::size_t size) {
  return indices == IndexFormat::kRaw ? raw_index_bytes(count) : packed_index_bytes(count, size);
}

Status read_indices(IndexFormat format, std::span<const std::byte> bytes, std::size_t size,
                    std::span<std::uint32_t> indices) {
  switch (format) {
    case IndexFormat::kRaw:
      return read_raw_indices(bytes, size, indices);
    case IndexFormat::kPacked:
      return read_packed_indices(bytes, size, indices);
    case IndexFormat::kCoded:
      return read_coded_indices(bytes, size, indices);
  }
  check_failed(__FILE__, __LINE__, "format", "one of the list");
}

Result<kernels::Entries> read_entries(EntryFormat format, std::size_t count,
                                      std::span<const std::byte> bytes, std::size_t size) {
  const auto [values, indices] = format;
  const std::size_t value_part = value_bytes(values, count);
  const std::size_t most = index_bytes(indices, count, size);
  const std::size_t least = indices == IndexFormat::kCoded ? 0 : most;
  if (bytes.size() < least + value_part || bytes.size() > most + value_part)
    return malformed(std::to_string(bytes.size()) + " bytes for " + std::to_string(count) +
                     " entries");
  const std::size_t index_part = bytes.size() - value_part;
  kernels::Entries entries;
  entries.resize(count);
  if (Status ascending = read_indices(indices, bytes.first(index_part), size, entries.indices);
      !ascending)
    return ascending.error();
  if (Status finite = read_values(values, bytes.subspan(index_part), entries.values); !finite)
    return finite.error();
  return entries;
}

}  // namespace

std::size_t sparse_bytes(EntryFormat format, std::size_t count, std::size_t size) {
  if (count == 0) return 0;
  const std::size_t head = format.is_plain() ? 0 : 1 + leb128_bytes(count);
  return head + index_bytes(format.indices, count, size) + value_bytes(format.values, count);
}

std::uint32_t sparse_that_fits(EntryFormat format, std::size_t budget_bytes, std::size_t size) {
  KIMESH_CHECK(size <= std::numeric_limits<std::uint32_t>::max(), "indices fit 32 bits");
  std::size_t fits = 0, too_many = size + 1;
  while (fits + 1 < too_many) {
    const std::size_t count = fits + (too_many - fits) / 2;
    (sparse_bytes(format, count, size) <= budget_bytes ? fits : too_many) = count;
  }
  return static_cast<std::uint32_t>(fits);
}

Written write_sparse(EntryFormat format, Rounding rounding, std::size_t size,
                     kernels::Entries& entries) {
  Written written;
  if (format.is_plain()) {
    if (entries.size() == 0) return written;
    written.bytes.reserve(sparse_bytes(format, entries.size(), size));
    write_raw_indices(entries.indices, written.bytes);
    write_values(format.values, rounding, true, entries, written.bytes);
    return written;
  }
  written.form = Form::kPacked;
  std::vector<std::byte> values;  // written first: this decides which entries stay
  write_values(format.values, rounding, true, entries, values);
  if (entries.size() == 0) return written;
  const auto count = static_cast<std::uint32_t>(entries.size());
  written.bytes.reserve(sparse_bytes(format, count, size));
  written.bytes.push_back(format_byte(format));
  put_leb128(count, written.bytes);
  if (format.indices == IndexFormat::kRaw) {
    write_raw_indices(entries.indices, written.bytes);
  } else if (format.indices == IndexFormat::kPacked ||
             !write_coded_indices(entries.indices, size, written.bytes)) {
    written.bytes.front() = format_byte({format.values, IndexFormat::kPacked});
    write_packed_indices(entries.indices, size, written.bytes);
  }
  written.bytes.insert(written.bytes.end(), values.begin(), values.end());
  return written;
}

Result<std::uint32_t> read_count(std::span<const std::byte>& bytes, std::size_t most) {
  const std::optional<std::uint64_t> count = take_leb128(bytes);
  if (!count) return malformed("a count that is not in LEB128");
  if (*count == 0 || *count > most)
    return malformed("a count of " + std::to_string(*count) + " of " + std::to_string(most) +
                     " elements");
  return static_cast<std::uint32_t>(*count);
}

Result<kernels::Entries> read_packed(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.empty()) return kernels::Entries{};
  const auto code = std::to_integer<unsigned>(bytes.front());
  const EntryFormat format{static_cast<ValueFormat>(code & 3),
                           static_cast<IndexFormat>(code >> 2 & 3)};
  if (code >> 4 != 0 || format.indices > IndexFormat::kCoded || format.is_plain())
    return malformed("format " + std::to_string(code) + " is unknown");
  std::span<const std::byte> rest = bytes.subspan(1);
  const auto count = read_count(rest, size);
  if (!count) return count.error();
  return read_entries(format, *count, rest, size);
}

}  // namespace kimesh
