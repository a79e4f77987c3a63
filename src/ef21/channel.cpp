#include "kimesh/ef21/channel.h"

#include <algorithm>

#include "kernels/vector_math.h"
#include "kimesh/util/digest.h"

namespace kimesh {

Result<Advanced> advance_channel(std::span<const float> target, std::span<float> estimate,
                                 std::span<const Piece> pieces, const Setting& setting,
                                 bool restart, CompressScratch& scratch, bool with_curve) {
  if (restart && !estimate.empty()) {
    // The difference to 0 is the target itself, so nothing that follows the reset can fail.
    if (const auto bad = kernels::first_not_finite(target)) return not_finite_at(*bad);
    std::ranges::fill(estimate, 0.0f);
  }
  return advance(target, estimate, pieces, setting, scratch, with_curve);
}

Result<Advanced> advance_residual(std::span<float> target, std::span<float> estimate,
                                  std::span<const Piece> pieces, const Setting& setting,
                                  CompressScratch& scratch, bool with_curve) {
  for (std::size_t j = 0; j < target.size(); ++j) target[j] -= estimate[j];
  auto made = advance_channel(target, estimate, pieces, setting, true, scratch, with_curve);
  if (!made) return made;
  for (std::size_t j = 0; j < target.size(); ++j) estimate[j] -= target[j];
  return made;
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
