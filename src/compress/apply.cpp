#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "kimesh/compress/compressor.h"

namespace kimesh {
namespace {

// A payload may begin at any address, so numbers are copied out of it.
template <typename T>
T read(std::span<const std::byte> bytes, std::size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position * sizeof(T), sizeof(T));
  return value;
}

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, "a payload that no correct peer sends: " + std::move(what)};
}

Status check_values(std::span<const std::byte> values) {
  for (std::size_t c = 0; c < values.size() / sizeof(float); ++c)
    if (!std::isfinite(read<float>(values, c)))
      return malformed("value " + std::to_string(c) + " is NaN or infinite");
  return ok_status();
}

Status check_dense(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() != size * sizeof(float))
    return malformed(std::to_string(bytes.size()) + " bytes for " + std::to_string(size) +
                     " float32 elements");
  return check_values(bytes);
}

struct TopkView {
  std::size_t count;
  std::span<const std::byte> indices, values;
};

TopkView view_topk(std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  return {half / sizeof(std::uint32_t), bytes.first(half), bytes.subspan(half)};
}

Status check_topk(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() % (sizeof(std::uint32_t) + sizeof(float)) != 0)
    return malformed(std::to_string(bytes.size()) + " bytes are no whole number of entries");
  const TopkView topk = view_topk(bytes);
  std::size_t next = 0;  // the least index that may follow
  for (std::size_t c = 0; c < topk.count; ++c) {
    const std::size_t index = read<std::uint32_t>(topk.indices, c);
    if (index < next) return malformed("index " + std::to_string(index) + " is out of order");
    if (index >= size)
      return malformed("index " + std::to_string(index) + " of " + std::to_string(size) +
                       " elements");
    next = index + 1;
  }
  return check_values(topk.values);
}

}  // namespace

Status validate(Form form, std::span<const std::byte> bytes, std::size_t size) {
  switch (form) {
    case Form::kEmpty:
      if (!bytes.empty()) return malformed("bytes in a message without a payload");
      return ok_status();
    case Form::kDense:
      return check_dense(bytes, size);
    case Form::kTopk:
      return check_topk(bytes, size);
  }
  return malformed("form " + std::to_string(static_cast<int>(form)) + " is unknown");
}

Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate) {
  if (Status valid = validate(form, bytes, estimate.size()); !valid) return valid;
  if (bytes.empty()) return ok_status();
  if (form == Form::kDense) {
    std::memcpy(estimate.data(), bytes.data(), bytes.size());
    return ok_status();
  }
  const TopkView topk = view_topk(bytes);
  for (std::size_t c = 0; c < topk.count; ++c)
    estimate[read<std::uint32_t>(topk.indices, c)] += read<float>(topk.values, c);
  return ok_status();
}

}  // namespace kimesh
