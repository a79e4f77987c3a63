// The formats of values and indices in sparse messages. The numbers are bits of a payload's format
// byte.
#pragma once

#include <cstdint>

namespace kimesh {

enum class ValueFormat : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt4 };
enum class IndexFormat : std::uint8_t { kRaw, kPacked, kCoded };

struct EntryFormat {
  ValueFormat values = ValueFormat::kFloat32;
  IndexFormat indices = IndexFormat::kRaw;
  // Whether indices are u32 and values float32: the form `sparse`, without a format byte.
  [[nodiscard]] bool is_plain() const {
    return values == ValueFormat::kFloat32 && indices == IndexFormat::kRaw;
  }
};

}  // namespace kimesh
