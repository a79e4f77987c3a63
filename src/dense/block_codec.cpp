#include "block_codec.h"

namespace kimesh {

Result<Advanced> BlockCodec::advance(const AdvanceJob& job) const {
  Advanced result;
  result.form = form_;
  result.bytes.resize(kernels::quantised_bytes(blocks_, job.size()));
  auto quantised = job.difference.quantise(job, blocks_, job.setting.rounding, result.bytes,
                                           result.missing_energy);
  if (!quantised) return quantised.error();
  result.kept = job.size();
  result.wanted_energy = quantised->energies.target;
  result.energy_to_send = quantised->energies.difference;
  result.curve = std::move(quantised->curve);
  return result;
}

void BlockCodec::refuse_indices(Keys& keys) {
  keys.refuse({"indices"}, "a compressor that sends every element");
}

void BlockCodec::refuse_formats(Keys& keys) const {
  keys.refuse({"indices", "values"},
              "compressor: " + kind_name() + ", which has a format of its own");
}

Result<Content> decode_as(kernels::BlockFormat blocks, std::span<const std::byte> payload,
                          std::size_t size) {
  if (!kernels::is_quantised(blocks, payload, size))
    return malformed(std::to_string(payload.size()) + " bytes that are no blocks of " +
                     std::to_string(size) + " elements");
  return Content{AddBlocks{blocks, payload}};
}

}  // namespace kimesh
