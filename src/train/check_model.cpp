#include "check_model.h"

#include <algorithm>
#include <string>

namespace kimesh {

Status check_model(const ModelOptions& model, const SampleShape& shape) {
  const bool tokens = shape.kind == SampleShape::Kind::kTokens;
  const auto misfit = find_misfit(*model.kind, tokens, std::min(shape.height, shape.width));
  if (misfit) return Error{ErrorCode::kUserInput, misfit->message + ". " + misfit->remedy + "."};
  if (const Status suited = model.kind->suits(shape); !suited) return suited;
  return check_prefixes(model, shape);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace kimesh
