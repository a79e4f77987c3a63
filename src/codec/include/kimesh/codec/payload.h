// Tools to read payloads, which may begin at any address: numbers are copied out of them.
#pragma once

#include <cstring>
#include <optional>
#include <span>

#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The T at `position`, counted in Ts from the front of `bytes`. Requires that it is there.
template <typename T>
[[nodiscard]] T read(std::span<const std::byte> bytes, std::size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position * sizeof(T), sizeof(T));
  return value;
}

// The float32 numbers of `bytes`, where they lie; nothing: no float may lie at their address.
[[nodiscard]] std::optional<std::span<const float>> floats_in_place(
    std::span<const std::byte> bytes);

// Checks float32 numbers. Errors: Malformed, where one is NaN or infinite.
[[nodiscard]] Status check_floats(std::span<const std::byte> values);

// Adds decoded content to the estimate; AssignFloats is assigned. Requires content that was decoded
// for a vector of this size.
void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate);

}  // namespace kimesh
