#include "kimesh/observe/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kimesh/observe/text_file.h"
#include "src/observe/json.h"

namespace kimesh {
namespace {

static_assert(std::endian::native == std::endian::little, "raw little-endian data is copied");

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kDimensionsMax = 16;  // of a tensor; torch itself stops at 64

std::string header_of(std::span<const TensorView> tensors) {
  Json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::size_t end = offset + tensor.values.size_bytes();
    json[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = text_of(json);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
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
std::string read_entry(const std::string& name, const Json& entry, std::size_t data_bytes,
                       TensorFile& file) {
  FieldReader fields(entry);
  std::string dtype;
  fields.read("dtype", dtype);
  const Json* shape = fields.list("shape");
  const Json* offsets = fields.list("data_offsets");
  if (!fields.ok()) return fields.complaint();
  if (dtype != "F32") return "tensor " + name + " holds " + dtype + ", not F32";
  TensorFile::Tensor tensor{name, {}, 0, 0};
  const auto elements = read_shape(*shape, data_bytes / sizeof(float), tensor.shape);
  if (!is_offset_pair(*offsets) || !elements) return "tensor " + name + " has no valid place";
  const auto begin = (*offsets)[0].get<std::uint64_t>(), end = (*offsets)[1].get<std::uint64_t>();
  if (begin > end || end > data_bytes || begin % sizeof(float) != 0 ||
      end - begin != *elements * sizeof(float))
    return "tensor " + name + " does not lie where the file says";
  tensor.offset = begin / sizeof(float);
  tensor.size = *elements;
  file.tensors.push_back(std::move(tensor));
  return "";
}

std::string read_header(const Json& header, std::size_t data_bytes, TensorFile& file) {
  if (!header.is_object()) return "its header is no JSON object";
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::string wrong = read_entry(name, entry, data_bytes, file);
    if (!wrong.empty()) return wrong;
  }
  std::ranges::stable_sort(file.tensors, {}, &TensorFile::Tensor::offset);
  return "";
}

}  // namespace

Status write_safetensors(const std::string& path, std::span<const TensorView> tensors) {
  const std::string header = header_of(tensors);
  const std::uint64_t length = header.size();
  std::size_t size = kLengthBytes + header.size();
  for (const TensorView& tensor : tensors) size += tensor.values.size_bytes();
  std::string bytes;
  bytes.reserve(size);
  bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += header;
  for (const TensorView& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  return write_whole(path, std::string_view(bytes));
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
  if (data.size() % sizeof(float) != 0) return malformed("its data is cut off");
  const std::string_view head(bytes->data() + kLengthBytes, length);
  TensorFile file;
  const std::string wrong = read_header(Json::parse(head, nullptr, false), data.size(), file);
  if (!wrong.empty()) return malformed(wrong);
  file.values.resize(data.size() / sizeof(float));
  if (!data.empty()) std::memcpy(file.values.data(), data.data(), data.size());
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
