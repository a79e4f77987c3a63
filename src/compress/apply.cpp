#include <cmath>
#include <string>

#include "src/compress/families.h"
#include "src/compress/read.h"

namespace kimesh {
namespace {

Status validate_empty(std::span<const std::byte> bytes) {
  if (!bytes.empty()) return malformed("bytes in a message without a payload");
  return ok_status();
}

Status validate_dense(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() != size * sizeof(float))
    return malformed(std::to_string(bytes.size()) + " bytes for " + std::to_string(size) +
                     " float32 elements");
  return check_floats(bytes);
}

}  // namespace

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, "a payload that no correct peer sends: " + std::move(what)};
}

Error unknown_form(Form form) {
  return malformed("form " + std::to_string(static_cast<int>(form)) + " is unknown");
}

Status check_floats(std::span<const std::byte> values) {
  for (std::size_t c = 0; c < values.size() / sizeof(float); ++c)
    if (!std::isfinite(read<float>(values, c)))
      return malformed("value " + std::to_string(c) + " is NaN or infinite");
  return ok_status();
}

Status validate(Form form, std::span<const std::byte> bytes, std::size_t size) {
  switch (form) {
    case Form::kEmpty:
      return validate_empty(bytes);
    case Form::kDense:
      return validate_dense(bytes, size);
    case Form::kSparse:
      return validate_sparse(bytes, size);
    case Form::kPacked:
      return validate_packed(bytes, size);
    case Form::kSeeded:
      return validate_seeded(bytes, size);
    case Form::kBfloat16:
    case Form::kSign:
    case Form::kInt8:
    case Form::kInt4:
      return validate_quantised(form, bytes, size);
    case Form::kDzq:
    case Form::kDzqFixed:
      return validate_dzq(form, bytes, size);
  }
  return unknown_form(form);
}

Status add_decoded(const Result<kernels::Entries>& entries, kernels::Memory& memory,
                   kernels::MemorySpan estimate) {
  if (!entries) return entries.error();
  memory.add_sparse(std::as_bytes(std::span(entries->indices)),
                    std::as_bytes(std::span(entries->values)), estimate);
  return ok_status();
}

Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
             kernels::MemorySpan estimate) {
  switch (form) {
    case Form::kEmpty:
      return validate_empty(bytes);
    case Form::kDense: {
      if (Status valid = validate_dense(bytes, estimate.size); !valid) return valid;
      memory.upload(bytes, estimate);
      return ok_status();
    }
    case Form::kSparse:
      return apply_sparse(bytes, memory, estimate);
    case Form::kPacked:
      return apply_packed(bytes, memory, estimate);
    case Form::kSeeded:
      return apply_seeded(bytes, memory, estimate);
    case Form::kBfloat16:
    case Form::kSign:
    case Form::kInt8:
    case Form::kInt4:
      return apply_quantised(form, bytes, memory, estimate);
    case Form::kDzq:
    case Form::kDzqFixed:
      return apply_dzq(form, bytes, memory, estimate);
  }
  return unknown_form(form);
}

Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate) {
  return apply(form, bytes, kernels::host_memory(), kernels::MemorySpan(estimate));
}

}  // namespace kimesh
