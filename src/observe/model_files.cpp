#include "kimesh/observe/model_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/observe/safetensors.h"
#include "kimesh/util/check.h"

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

Part part_of(const Plan& plan, const Shard& shard, const LayerSlice& slice) {
  const LayoutLayer& layer = plan.layout.layers[slice.layer];
  Part part{name_of(layer), layer.shape, shard.begin + slice.offset, slice.size};
  if (slice.size == layer.size) return part;
  const std::size_t row = layer.row_size();
  const std::size_t first = (part.offset - layer.offset) / row, rows = slice.size / row;
  KIMESH_CHECK(!part.shape.empty() && rows * row == slice.size, "shards are cut on rows");
  part.shape.front() = static_cast<std::int64_t>(rows);
  part.name += fmt::format("[{}:{}]", first, first + rows);
  return part;
}

std::vector<Part> parts_of(const Plan& plan, NodeIndex owner) {
  std::vector<Part> parts;
  for (const Shard& shard : plan.shards) {
    if (shard.owner != owner) continue;
    for (const LayerSlice& slice : shard.layers) parts.push_back(part_of(plan, shard, slice));
  }
  return parts;
}

Status write_parts(const std::string& path, const std::vector<Part>& parts,
                   std::span<const float> parameters) {
  std::vector<TensorView> tensors;
  for (const Part& part : parts)
    tensors.push_back({part.name, part.shape, parameters.subspan(part.offset, part.size)});
  return write_safetensors(path, tensors);
}

Status read_parts(const std::string& path, const std::vector<Part>& parts,
                  std::span<float> parameters) {
  const auto file = read_safetensors(path);
  if (!file) return file.error();
  if (file->tensors.size() != parts.size())
    return Error{ErrorCode::kMalformed, fmt::format("{} holds {} tensors instead of {}", path,
                                                    file->tensors.size(), parts.size())};
  for (const Part& part : parts) {
    const TensorFile::Tensor* tensor = file->find(part.name);
    if (tensor == nullptr || tensor->shape != part.shape)
      return Error{ErrorCode::kMalformed, fmt::format("{} holds no {} of shape [{}]", path,
                                                      part.name, fmt::join(part.shape, ", "))};
    std::ranges::copy(file->values_of(*tensor),
                      parameters.begin() + static_cast<std::ptrdiff_t>(part.offset));
  }
  return ok_status();
}

}  // namespace

Status write_model(const std::string& path, const Layout& layout,
                   std::span<const float> parameters) {
  KIMESH_CHECK(parameters.size() == layout.size(), "all parameters");
  return write_parts(path, parts_of(layout), parameters);
}

Result<std::vector<float>> read_model(const std::string& path, const Layout& layout) {
  std::vector<float> parameters(layout.size());
  const Status status = read_parts(path, parts_of(layout), parameters);
  if (!status.ok()) return status.error();
  return parameters;
}

Status write_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                    std::span<const float> parameters) {
  KIMESH_CHECK(parameters.size() == plan.layout.size(), "all parameters");
  return write_parts(path, parts_of(plan, owner), parameters);
}

Status read_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                   std::span<float> parameters) {
  KIMESH_CHECK(parameters.size() == plan.layout.size(), "all parameters");
  return read_parts(path, parts_of(plan, owner), parameters);
}

}  // namespace kimesh
