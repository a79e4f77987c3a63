#include "kimesh/ef21/channel.h"

#include <algorithm>

#include "kernels/vector_math.h"
#include "kimesh/util/digest.h"

namespace kimesh {

Result<Advanced> advance_channel(std::span<const float> target, std::span<float> estimate,
                                 std::span<const Piece> pieces, const Setting& setting,
                                 bool restart, CompressScratch& scratch) {
  if (restart && setting.form != Form::kDense) {
    // The difference to 0 is the target itself, so nothing that follows the reset can fail.
    if (const auto bad = kernels::first_not_finite(target)) return not_finite_at(*bad);
    std::ranges::fill(estimate, 0.0f);
  }
  return advance(target, estimate, pieces, setting, scratch);
}

Status apply_to_channel(Form form, std::span<const std::byte> bytes, std::span<float> estimate,
                        bool restart) {
  if (restart) {
    if (Status valid = validate(form, bytes, estimate.size()); !valid) return valid;
    if (form != Form::kDense) std::ranges::fill(estimate, 0.0f);
  }
  return apply(form, bytes, estimate);
}

std::uint64_t channel_digest(std::span<const float> target, std::span<const float> estimate) {
  return digest_floats(estimate.empty() ? target : estimate);
}

}  // namespace kimesh
