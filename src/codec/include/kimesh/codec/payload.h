// Reading payloads, which may begin at any address: numbers are copied out of them.
#pragma once

#include <cstring>
#include <span>

#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The `position`-th T of `bytes`. Requires that it is there.
template <typename T>
[[nodiscard]] T read(std::span<const std::byte> bytes, std::size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position * sizeof(T), sizeof(T));
  return value;
}

// Errors: Malformed where one of these float32 is NaN or infinite.
[[nodiscard]] Status check_floats(std::span<const std::byte> values);

// Adds (AssignFloats: assigns) content that was decoded for a vector of this size.
void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate);

}  // namespace kimesh
