#include "kimesh/model_files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "kimesh/records/durable_file.h"
#include "kimesh/records/parse_json.h"
#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

using Json = nlohmann::json;  // finds a key among many at once

static_assert(std::endian::native == std::endian::little, "raw little-endian data is copied");

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kDimensionsMax = 16;  // dimensions of a tensor; torch itself allows 64

constexpr const char* kMetadata = "__metadata__";

std::string header_of(std::span<const TensorView> tensors, const TensorMetadata& metadata) {
  nlohmann::ordered_json json;
  json[kMetadata] = {{"format", "pt"}};
  for (const auto& [key, value] : metadata) json[kMetadata][key] = value;
  std::size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::size_t end = offset + tensor.values.size_bytes();
    json[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Bytes of names that are no UTF-8 are replaced, since nothing is thrown here.
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

// An entry of the header.
struct Entry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;  // bytes of the data
  std::size_t elements = 0;
};

// Bytes of an element; 0: not a type that is read.
std::size_t width_of(const std::string& dtype) {
  if (dtype == "F32") return sizeof(float);
  if (dtype == "F64") return sizeof(double);
  return dtype == "F16" || dtype == "BF16" ? sizeof(std::uint16_t) : 0;
}

bool is_offset_pair(const Json& offsets) {
  return offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
         offsets[1].is_number_unsigned();
}

// The number of elements; nothing: a size is no number, or they are more than `limit`.
std::optional<std::size_t> read_shape(const Json& json, std::size_t limit,
                                      std::vector<std::int64_t>& shape) {
  if (json.size() > kDimensionsMax) return std::nullopt;
  std::size_t elements = 1;
  for (const Json& extent : json) {
    if (!extent.is_number_unsigned()) return std::nullopt;
    const auto size = extent.get<std::uint64_t>();
    if (size > 0 && elements > limit / size) return std::nullopt;
    elements *= size;
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return elements;
}

// Half a sentence when the entry is wrong, else empty.
std::string read_entry(const Json& json, std::size_t data_bytes, Entry& entry) {
  if (!json.is_object()) return "tensor " + entry.name + " is no JSON object";
  const Json none;
  const auto field = [&](const char* name) -> const Json& {
    return json.contains(name) ? json.at(name) : none;
  };
  const auto is_wrong = [](const char* name) {
    return fmt::format("'{}' is missing or of another kind", name);
  };
  const Json &dtype = field("dtype"), &shape = field("shape"), &offsets = field("data_offsets");
  if (!dtype.is_string()) return is_wrong("dtype");
  if (!shape.is_array()) return is_wrong("shape");
  if (!offsets.is_array()) return is_wrong("data_offsets");
  entry.dtype = dtype.get<std::string>();
  const auto elements = read_shape(shape, data_bytes, entry.shape);  // of a byte at least
  if (!is_offset_pair(offsets) || !elements) return "tensor " + entry.name + " has no valid place";
  entry.elements = *elements;
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  const std::size_t width = width_of(entry.dtype);
  const bool fits = entry.begin <= entry.end && entry.end <= data_bytes &&
                    (width == 0 || entry.end - entry.begin == entry.elements * width);
  return fits ? "" : "tensor " + entry.name + " does not lie where the file says";
}

// As read_entry, for all entries, in the order of their data. They fill the data without holes or
// overlaps.
std::string read_header(const Json& header, std::size_t data_bytes, std::vector<Entry>& entries) {
  if (!header.is_object()) return "its header is no JSON object";
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadata) continue;
    entries.push_back({name, {}, {}, 0, 0, 0});
    const std::string wrong = read_entry(json, data_bytes, entries.back());
    if (!wrong.empty()) return wrong;
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::size_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) return "tensor " + entry.name + " does not follow the one before it";
    at = entry.end;
  }
  return at == data_bytes ? "" : "its data is longer than its header says";
}

// IEEE 754 half precision: 1 sign, 5 exponent and 10 fraction bits. Exact.
float from_half(std::uint16_t half) {
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 0x1f)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

// Upper half of a float32.
float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

void append_values(const Entry& entry, std::string_view bytes, std::vector<float>& values) {
  const std::size_t offset = values.size();
  values.resize(offset + entry.elements);
  float* out = values.data() + offset;
  if (entry.dtype == "F32") {
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < entry.elements; ++i) {
    if (entry.dtype == "F64") {
      double value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      out[i] = static_cast<float>(value);
      continue;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    out[i] = entry.dtype == "F16" ? from_half(bits) : from_bfloat16(bits);
  }
}

TensorMetadata metadata_of(const Json& header) {
  TensorMetadata metadata;
  if (!header.contains(kMetadata)) return metadata;
  for (const auto& [key, value] : header.at(kMetadata).items())
    if (value.is_string()) metadata[key] = value.get<std::string>();
  return metadata;
}

TensorFile take_values(std::vector<Entry> entries, std::string_view data) {
  TensorFile file;
  std::size_t elements = 0;
  for (const Entry& entry : entries)
    if (width_of(entry.dtype) > 0) elements += entry.elements;
  file.values.reserve(elements);
  for (Entry& entry : entries) {
    if (width_of(entry.dtype) == 0) {
      file.skipped.push_back(std::move(entry.name));
      continue;
    }
    const std::size_t offset = file.values.size();
    append_values(entry, data.substr(entry.begin, entry.end - entry.begin), file.values);
    file.tensors.push_back({std::move(entry.name), std::move(entry.shape), offset, entry.elements});
  }
  return file;
}

}  // namespace

Status write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                         const TensorMetadata& metadata) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  auto file = DurableFile::create(path);
  if (!file) return file.error();
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(&length, 1)),
                                                std::as_bytes(std::span(header))};
  for (const TensorView& tensor : tensors) parts.push_back(std::as_bytes(tensor.values));
  for (const std::span<const std::byte> part : parts)
    if (Status appended = file->append(part); !appended) return appended;
  return file->commit();
}

Result<TensorFile> read_safetensors(const std::string& path, std::size_t bytes_max) {
  const auto bytes = read_whole(path, bytes_max);
  if (!bytes) return bytes.error();
  const auto malformed = [&](const std::string& why) {
    return Error{ErrorCode::kMalformed, path + " is no safetensors file that kimesh reads: " + why};
  };
  std::uint64_t length = 0;
  if (bytes->size() < kLengthBytes) return malformed("it is too short");
  std::memcpy(&length, bytes->data(), kLengthBytes);
  if (length > kSafetensorsHeaderMax || length > bytes->size() - kLengthBytes)
    return malformed("its header is longer than the file");
  const std::string_view data = std::string_view(*bytes).substr(kLengthBytes + length);
  const std::string_view head(bytes->data() + kLengthBytes, length);
  std::vector<Entry> entries;
  const Json header = parse_json<Json>(head);
  const std::string wrong = read_header(header, data.size(), entries);
  if (!wrong.empty()) return malformed(wrong);
  TensorFile file = take_values(std::move(entries), data);
  file.metadata = metadata_of(header);
  return file;
}

const TensorFile::Tensor* TensorFile::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

std::span<const float> TensorFile::values_of(const Tensor& tensor) const {
  return std::span(values).subspan(tensor.offset, tensor.size);
}

}  // namespace kimesh
