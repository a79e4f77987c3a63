// Where a run starts, and which of the model's tensors move at all. Nothing here needs LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kimesh/objective/model_options.h"
#include "kimesh/topology/layout.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Whether one of `prefixes` names the parameter or a module that it is in: "layers.1" names
// layers.1.weight, but not layers.10.weight.
[[nodiscard]] bool is_named_by(const std::string& name, const std::vector<std::string>& prefixes);

// The layers of `whole` that are frozen, or those that are not, one behind another.
[[nodiscard]] Layout part_of(const Layout& whole, const ModelOptions& model, bool frozen);

// Errors: UserInput: a prefix of `frozen` or `fresh` names nothing in `whole`, or nothing is left
// to train.
[[nodiscard]] Status check_prefixes(const ModelOptions& model, const Layout& whole);

// Copies the layers of `part` from `values`, which hold all of `whole`.
// Shapes: values [whole.size()], out [part.size()]. Requires that whole has the layers of part.
void take_part(const Layout& whole, std::span<const float> values, const Layout& part,
               std::span<float> out);

}  // namespace kimesh
