#include "kimesh/model_files/model_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/util/check.h"
#include "malformed.h"

namespace kimesh {
namespace {

// Where a tensor of a file lies in the flat vector.
struct Part {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0, size = 0;
};

std::string name_of(const LayoutLayer& layer) {
  return layer.name.empty() ? "x" : layer.name;
}

std::vector<Part> parts_of(const Layout& layout) {
  std::vector<Part> parts;
  for (const LayoutLayer& layer : layout.layers)
    parts.push_back({name_of(layer), layer.shape, layer.offset, layer.size});
  return parts;
}

void add_views(const std::vector<Part>& parts, std::span<const float> values,
               std::vector<TensorView>& tensors) {
  for (const Part& part : parts)
    tensors.push_back({part.name, part.shape, values.subspan(part.offset, part.size)});
}

// Null: it is not there, or has another shape.
const TensorFile::Tensor* find_part(const TensorFile& file, const Part& part) {
  const TensorFile::Tensor* tensor = file.find(part.name);
  return tensor != nullptr && tensor->shape == part.shape ? tensor : nullptr;
}

Error holds_no(const std::string& path, const Part& part) {
  return malformed(
      path, fmt::format("holds no {} of shape [{}]", part.name, fmt::join(part.shape, ", ")));
}

// `others` must be in the file too, but are not read.
Status read_parts(const std::string& path, const std::vector<Part>& parts,
                  std::span<float> parameters, const std::vector<Part>& others = {}) {
  const auto file = read_safetensors(path);
  if (!file) return file.error();
  const std::size_t wanted = parts.size() + others.size();
  if (file->tensors.size() != wanted)
    return malformed(path,
                     fmt::format("holds {} tensors instead of {}", file->tensors.size(), wanted));
  for (const Part& part : others)
    if (find_part(*file, part) == nullptr) return holds_no(path, part);
  for (const Part& part : parts) {
    const TensorFile::Tensor* tensor = find_part(*file, part);
    if (tensor == nullptr) return holds_no(path, part);
    std::ranges::copy(file->values_of(*tensor),
                      parameters.begin() + static_cast<std::ptrdiff_t>(part.offset));
  }
  return ok_status();
}

}  // namespace

Status write_model(const std::string& path, const Layout& layout, std::span<const float> parameters,
                   const NamedValues& frozen, const TensorMetadata& metadata) {
  KIMESH_CHECK(parameters.size() == layout.size(), "all parameters");
  std::vector<TensorView> tensors;
  add_views(parts_of(layout), parameters, tensors);
  add_views(parts_of(frozen.layout), frozen.values, tensors);
  return write_safetensors(path, tensors, metadata);
}

Result<std::vector<float>> read_model(const std::string& path, const Layout& layout,
                                      const Layout& frozen) {
  std::vector<float> parameters(layout.size());
  const Status status = read_parts(path, parts_of(layout), parameters, parts_of(frozen));
  if (!status.ok()) return status.error();
  return parameters;
}

Result<NamedValues> read_tensors(const std::string& path, std::vector<std::string>& skipped) {
  auto file = read_safetensors(path);
  if (!file) return file.error();
  NamedValues tensors;
  for (TensorFile::Tensor& tensor : file->tensors)
    tensors.layout.layers.push_back(
        {std::move(tensor.name), std::move(tensor.shape), tensor.offset, tensor.size});
  tensors.values = std::move(file->values);
  skipped = std::move(file->skipped);
  return tensors;
}

}  // namespace kimesh
