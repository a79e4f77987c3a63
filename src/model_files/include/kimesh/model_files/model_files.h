// Files with a run's parameters, under torch's names. A whole model holds one tensor per layer. A
// file of shards holds what one node owns: a layer that the cut leaves whole under its name, else
// the rows first to last - 1 of it as "NAME[first:last]". The one unnamed vector of the quadratics
// is called "x".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Writes a whole model. `frozen` holds the tensors of the model that are not in `layout`, and is
// written too. Shape: parameters [layout.size()]. Errors: Io.
[[nodiscard]] Status write_model(const std::string& path, const Layout& layout,
                                 std::span<const float> parameters, const NamedValues& frozen = {});
// Reads the parameters of `layout` from a file that also holds the tensors of `frozen`. Errors: Io,
// Malformed (another model), naming the file.
[[nodiscard]] Result<std::vector<float>> read_model(const std::string& path, const Layout& layout,
                                                    const Layout& frozen = {});
// Reads all tensors of a file. Tensors of types that kimesh does not compute in are left out, and
// their names are added to `skipped`. Errors: Io, Malformed, naming the file.
[[nodiscard]] Result<NamedValues> read_tensors(const std::string& path,
                                               std::vector<std::string>& skipped);

// Writes the shards of `owner` from `parameters` [plan.layout.size()]. Errors: Io.
[[nodiscard]] Status write_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                                  std::span<const float> parameters);
// Reads the shards of `owner` into `parameters` [plan.layout.size()]. Errors: Io, Malformed, naming
// the file; parameters may be partly written then.
[[nodiscard]] Status read_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                                 std::span<float> parameters);

}  // namespace kimesh
