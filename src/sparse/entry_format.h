// How sparse messages write their values and their indices: the numbers are bits of a format byte.
#pragma once

#include <cstdint>

namespace kimesh {

enum class ValueFormat : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt4 };
enum class IndexFormat : std::uint8_t { kRaw, kPacked, kCoded };

struct EntryFormat {
  ValueFormat values = ValueFormat::kFloat32;
  IndexFormat indices = IndexFormat::kRaw;
  // u32 indices and float32 values: the form `sparse`.
  [[nodiscard]] bool is_plain() const {
    return values == ValueFormat::kFloat32 && indices == IndexFormat::kRaw;
  }
};

}  // namespace kimesh
