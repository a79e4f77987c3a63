#include "kimesh/compress/device.h"

#include <cstring>
#include <vector>

#include "kernels/quantise.h"
#include "kimesh/util/check.h"
#include "src/compress/device_difference.h"
#include "src/compress/packed.h"

namespace kimesh {
namespace {

Result<kernels::Entries> read_entries(Form form, std::span<const std::byte> bytes,
                                      std::size_t size) {
  switch (form) {
    case Form::kSparse:
      return read_sparse(bytes, size);
    case Form::kPacked:
      return read_packed(bytes, size);
    case Form::kSeeded:
      return read_seeded(bytes, size);
    case Form::kDzq:
    case Form::kDzqFixed:
      return read_dzq(form, bytes, size);
    default:
      break;
  }
  return unknown_form(form);
}

}  // namespace

Result<Advanced> advance(kernels::Memory& device, kernels::MemorySpan target,
                         kernels::MemorySpan estimate, std::span<const Piece> pieces,
                         const Setting& setting, CompressScratch& scratch, bool with_curve) {
  KIMESH_CHECK(traits_of(setting.compressor).on_devices, "a compressor that devices have");
  KIMESH_CHECK(estimate.size == target.size || estimate.size == 0, "one size, or no estimate");
  DeviceDifference difference(device, target, estimate);
  return advance(difference, pieces, setting, scratch, with_curve);
}

Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& device,
             kernels::MemorySpan estimate) {
  if (form == Form::kEmpty) return validate(form, bytes, estimate.size);
  if (form == Form::kDense) {
    if (Status valid = validate(form, bytes, estimate.size); !valid) return valid;
    std::vector<float> floats(estimate.size);  // bytes may lie anywhere
    if (!bytes.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
    device.upload(floats, estimate);
    return ok_status();
  }
  if (const auto blocks = blocks_of(form)) {
    if (Status valid = validate(form, bytes, estimate.size); !valid) return valid;
    device.add_blocks(*blocks, bytes, estimate);
    return ok_status();
  }
  const auto entries = read_entries(form, bytes, estimate.size);
  if (!entries) return entries.error();
  device.add_entries(entries->indices, entries->values, estimate);
  return ok_status();
}

}  // namespace kimesh
