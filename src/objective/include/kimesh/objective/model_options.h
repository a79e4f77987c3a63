// The section `model` of a config: which network is trained, and from which weights on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/config/keys.h"
#include "kimesh/objective/model_kind.h"

namespace kimesh {

// What forward and backward pass compute in. Parameters, gradients and the loss stay float32.
enum class ComputeKind { kFloat32, kBfloat16 };

struct ModelOptions {
  std::shared_ptr<ModelKind> kind;  // null: there is no model
  ComputeKind compute = ComputeKind::kFloat32;
  // Prefixes of torch's names, such as "layers.0": these parameters stay as they are.
  std::vector<std::string> frozen;
  std::string weights;             // safetensors that the run starts from, resolved; empty: drawn
  std::vector<std::string> fresh;  // prefixes as in `frozen`: drawn anew, whatever `weights` holds

  void describe(Keys& keys);
};

// Why a model and some data do not go together, and what to write instead. Neither ends with a full
// stop.
struct Misfit {
  std::string message, remedy;
};
// `image_side`: the shorter side of the data's images, 1 for rows of numbers; nothing: not known
// yet, or the data holds text.
[[nodiscard]] std::optional<Misfit> find_misfit(const ModelKind& model, bool data_holds_text,
                                                std::optional<std::int64_t> image_side);

}  // namespace kimesh
