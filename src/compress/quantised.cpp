// identity in bfloat16, sign, int8, int4: something of every element, in blocks.
#include "kernels/quantise.h"
#include "kimesh/util/check.h"
#include "src/compress/families.h"

namespace kimesh {
namespace {

struct Written {
  Form form;
  kernels::Blocks blocks;
};

Written form_of(const Setting& setting) {
  switch (setting.compressor) {
    case Compressor::kSign:
      return {Form::kSign, kernels::Blocks::kSign};
    case Compressor::kInt8:
      return {Form::kInt8, kernels::Blocks::kInt8};
    case Compressor::kInt4:
      return {Form::kInt4, kernels::Blocks::kInt4};
    default:
      KIMESH_CHECK(setting.values == ValueFormat::kBfloat16,
                   "identity is written in float32 or bfloat16");
      return {Form::kBfloat16, kernels::Blocks::kBfloat16};
  }
}

// What kernels/quantise.h calls a form; none of the others.
std::optional<kernels::Blocks> blocks_of(Form form) {
  switch (form) {
    case Form::kBfloat16:
      return kernels::Blocks::kBfloat16;
    case Form::kSign:
      return kernels::Blocks::kSign;
    case Form::kInt8:
      return kernels::Blocks::kInt8;
    case Form::kInt4:
      return kernels::Blocks::kInt4;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Advanced> advance_quantised(const AdvanceJob& job) {
  const Written written = form_of(job.setting);
  Advanced result;
  result.form = written.form;
  result.bytes.resize(kernels::quantised_bytes(written.blocks, job.size()));
  auto quantised = job.difference.quantise(job, written.blocks, job.setting.rounding, result.bytes,
                                           result.missing_energy);
  if (!quantised) return quantised.error();
  result.kept = job.size();
  result.wanted_energy = quantised->energies.target;
  result.curve = std::move(quantised->curve);
  return result;
}

Status validate_quantised(Form form, std::span<const std::byte> bytes, std::size_t size) {
  if (!kernels::is_quantised(*blocks_of(form), bytes, size))
    return malformed(std::to_string(bytes.size()) + " bytes that are no blocks of " +
                     std::to_string(size) + " elements");
  return ok_status();
}

Status apply_quantised(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                       kernels::MemorySpan estimate) {
  if (Status valid = validate_quantised(form, bytes, estimate.size); !valid) return valid;
  memory.add_quantised(*blocks_of(form), bytes, estimate);
  return ok_status();
}

}  // namespace kimesh
