#include <string>

#include "kimesh/codec/payload.h"
#include "kimesh/compress/codecs.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/host_memory.h"

namespace kimesh {
namespace {

Result<Content> decode_dense(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() != dense_bytes(size))
    return malformed(std::to_string(payload.size()) + " bytes for " + std::to_string(size) +
                     " float32 elements");
  if (Status finite = check_floats(payload); !finite) return finite.error();
  return Content{AssignFloats{payload}};
}

Result<Content> decode(Form form, std::span<const std::byte> payload, std::size_t size) {
  if (form == Form::kEmpty) {
    if (!payload.empty()) return malformed("bytes in a message without a payload");
    return Content{AddEntries{}};
  }
  if (form == Form::kDense) return decode_dense(payload, size);
  const WireForm* known = find_form(form);
  if (known == nullptr)
    return malformed("form " + std::to_string(static_cast<int>(form)) + " is unknown");
  return known->decode(payload, size);
}

}  // namespace

Status validate(Form form, std::span<const std::byte> bytes, std::size_t size) {
  if (const auto content = decode(form, bytes, size); !content) return content.error();
  return ok_status();
}

Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
             kernels::MemorySpan estimate) {
  const auto content = decode(form, bytes, estimate.size);
  if (!content) return content.error();
  if (form != Form::kEmpty) add_content(*content, memory, estimate);
  return ok_status();
}

Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate) {
  return apply(form, bytes, kernels::host_memory(), kernels::MemorySpan(estimate));
}

}  // namespace kimesh
