// Whether a model suits its data.
#pragma once

#include "kimesh/data/sample_shape.h"
#include "kimesh/objective/model_options.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Errors: UserInput, one sentence: the model is for other samples or for larger images, or a prefix
// of `frozen` or `fresh` names none of its parameters.
[[nodiscard]] Status check_model(const ModelOptions& model, const SampleShape& shape);

// The part of check_model that has to build the model.
[[nodiscard]] Status check_prefixes(const ModelOptions& model, const SampleShape& shape);

}  // namespace kimesh
