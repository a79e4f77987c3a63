// Weights as safetensors: u64 length of the header, the header (JSON, padded with spaces so that
// the data is aligned to 8 bytes), raw little-endian data. Python's safetensors reads it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

inline constexpr std::size_t kSafetensorsHeaderMax = 100'000'000;  // the format's own limit

// A float32 tensor in somebody's memory, row-major. Shape: values [product of shape].
struct TensorView {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// What a file says beside its tensors, by key. "format" is the format's own.
using TensorMetadata = std::map<std::string, std::string>;

// Writes a file that survives a loss of power (durable_file.h). Names differ from one another.
// Errors: Io.
[[nodiscard]] Status write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                                       const TensorMetadata& metadata = {});

struct TensorFile {
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t offset = 0, size = 0;  // elements, in `values`
  };
  std::vector<Tensor> tensors;       // in the order of their data
  std::vector<float> values;         // F64, F32, F16 and BF16, as float32
  TensorMetadata metadata;           // what of it is text
  std::vector<std::string> skipped;  // names of tensors of all other types, which are not read
  // Null: no tensor of that name.
  [[nodiscard]] const Tensor* find(const std::string& name) const;
  [[nodiscard]] std::span<const float> values_of(const Tensor& tensor) const;
};

// Reads a file, with memory of at most three times the file's size. Errors: Io (it cannot be read,
// or holds over `bytes_max`), Malformed (no safetensors: tensors overlap, leave holes or end past
// the file), both naming the file.
[[nodiscard]] Result<TensorFile> read_safetensors(const std::string& path,
                                                  std::size_t bytes_max = std::size_t{1} << 36);

}  // namespace kimesh
