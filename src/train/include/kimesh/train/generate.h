// Text that a model writes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kimesh/train/trainer.h"

namespace kimesh {

struct TextRequest {
  std::vector<std::uint16_t> prompt;  // at least one token
  std::size_t tokens = 0;             // that follow
  double temperature = 1;             // over 0; scores are divided by it
  std::uint64_t seed = 0;
  std::function<void(std::size_t drawn)> tell{};  // after each token; empty: nobody
};

// Draws one token after another from what the model, whose parameters are data.start, makes of the
// data's `length` last ones. The same seed gives the same tokens, as far as LibTorch gives the same
// bits. Errors: NotFinite: a score is NaN or infinity.
[[nodiscard]] Result<std::vector<std::uint16_t>> generate_tokens(const RunConfig& config,
                                                                 const TrainingData& data,
                                                                 const TextRequest& request);

}  // namespace kimesh
