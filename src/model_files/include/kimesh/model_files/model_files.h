// Files with a run's parameters: a tensor per layer, under torch's names. The one unnamed vector of
// the quadratics is called "x".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kimesh/model_files/safetensors.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Writes a model. `frozen` holds the tensors of the model that are not in `layout`, and follows
// them. Shape: parameters [layout.size()]. Errors: Io.
[[nodiscard]] Status write_model(const std::string& path, const Layout& layout,
                                 std::span<const float> parameters, const NamedValues& frozen = {},
                                 const TensorMetadata& metadata = {});
// Reads the parameters of `layout` from a file that also holds the tensors of `frozen`. Errors: Io,
// Malformed (another model), naming the file.
[[nodiscard]] Result<std::vector<float>> read_model(const std::string& path, const Layout& layout,
                                                    const Layout& frozen = {});
// Reads all tensors of a file. Tensors of types that kimesh does not compute in are left out, and
// their names are added to `skipped`. Errors: Io, Malformed, naming the file.
[[nodiscard]] Result<NamedValues> read_tensors(const std::string& path,
                                               std::vector<std::string>& skipped);

}  // namespace kimesh
