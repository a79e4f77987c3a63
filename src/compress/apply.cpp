#include <cmath>
#include <string>

#include "families.h"
#include "kimesh/kernels/host_memory.h"
#include "read.h"

namespace kimesh {
namespace {

Result<Content> decode_dense(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() != dense_bytes(size))
    return malformed(std::to_string(payload.size()) + " bytes for " + std::to_string(size) +
                     " float32 elements");
  if (Status finite = check_floats(payload); !finite) return finite.error();
  return Content{AssignFloats{payload}};
}

struct AddTo {
  kernels::Memory& memory;
  kernels::MemorySpan estimate;

  void operator()(const AssignFloats& all) const { memory.upload(all.floats, estimate); }
  void operator()(const AddBlocks& all) const {
    memory.add_quantised(all.blocks, all.bytes, estimate);
  }
  void operator()(const AddSparse& some) const {
    memory.add_sparse(some.indices, some.values, estimate);
  }
  void operator()(const AddEntries& some) const {
    memory.add_sparse(std::as_bytes(std::span(some.entries.indices)),
                      std::as_bytes(std::span(some.entries.values)), estimate);
  }
};

}  // namespace

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, "a payload that no correct peer sends: " + std::move(what)};
}

Status check_floats(std::span<const std::byte> values) {
  for (std::size_t c = 0; c < values.size() / sizeof(float); ++c)
    if (!std::isfinite(read<float>(values, c)))
      return malformed("value " + std::to_string(c) + " is NaN or infinite");
  return ok_status();
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

void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate) {
  std::visit(AddTo{memory, estimate}, content);
}

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
