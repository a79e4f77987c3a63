// Whether a model suits its data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kimesh/data/sample_shape.h"
#include "kimesh/objective/model_options.h"
#include "kimesh/util/result.h"

namespace kimesh {

// "[2, 3]".
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

// Errors: UserInput, one sentence: the model is for other samples or for larger images, a prefix of
// `frozen` or `fresh` names none of its parameters, or what its kind says of these samples.
[[nodiscard]] Status check_model(const ModelOptions& model, const SampleShape& shape);

// The part of check_model that has to build the model.
[[nodiscard]] Status check_prefixes(const ModelOptions& model, const SampleShape& shape);

}  // namespace kimesh
