// What a factor means for one message: what is sent, and what it is measured as, must be the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "message_size.h"

namespace kimesh {

inline std::uint32_t gravac_keep(double theta, std::size_t elements) {
  const double keep = std::round(static_cast<double>(elements) / theta);
  return std::max(floor_keep(elements), static_cast<std::uint32_t>(keep));
}

// As topk with raw indices and float32 values would be.
inline bool is_sent_dense(std::uint32_t keep, std::size_t elements) {
  constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);
  return dense_bytes(elements) <= kEntryBytes * keep;
}

}  // namespace kimesh
