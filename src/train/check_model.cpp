#include "check_model.h"

#include <algorithm>
#include <string>

namespace kimesh {

Status check_model(const ModelOptions& model, const SampleShape& shape) {
  const bool tokens = shape.kind == SampleShape::Kind::kTokens;
  const auto misfit = find_misfit(*model.kind, tokens, std::min(shape.height, shape.width));
  if (misfit) return Error{ErrorCode::kUserInput, misfit->message + ". " + misfit->remedy + "."};
  return check_prefixes(model, shape);
}

}  // namespace kimesh
