// A run's parameters on disk, under torch's names. A whole model holds one tensor per layer. A
// file of shards holds what one node owns: a layer that the cut leaves whole under its name, else
// the rows first to last - 1 of it as "NAME[first:last]". The one unnamed vector of the
// quadratics is called "x".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// `frozen` holds what is part of the model but not of `layout`: it is written too.
// Shape: parameters [layout.size()]. Errors: Io.
[[nodiscard]] Status write_model(const std::string& path, const Layout& layout,
                                 std::span<const float> parameters, const NamedValues& frozen = {});
// The parameters of `layout`; `frozen` as above must be there too. Errors: Io, Malformed (another
// model), naming the file.
[[nodiscard]] Result<std::vector<float>> read_model(const std::string& path, const Layout& layout,
                                                    const Layout& frozen = {});
// Whatever tensors a file holds. Those of types that kimesh does not compute in are left out, and
// their names go to `skipped`. Errors: Io, Malformed, naming the file.
[[nodiscard]] Result<NamedValues> read_tensors(const std::string& path,
                                               std::vector<std::string>& skipped);

// What `owner` owns of `parameters` [plan.layout.size()]. Errors: Io.
[[nodiscard]] Status write_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                                  std::span<const float> parameters);
// Puts the shards of `owner` into `parameters` [plan.layout.size()]. Errors: Io, Malformed, naming
// the file; parameters may be partly written then.
[[nodiscard]] Status read_shards(const std::string& path, const Plan& plan, NodeIndex owner,
                                 std::span<float> parameters);

}  // namespace kimesh
