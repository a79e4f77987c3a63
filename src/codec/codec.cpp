#include "kimesh/codec/codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/config/key_text.h"
#include "kimesh/util/check.h"

namespace kimesh {

std::size_t Codec::bytes_about(std::size_t kept, std::size_t size) const {
  return bytes_max(kept, size);
}

std::size_t Codec::bytes_min(std::size_t size) const {
  return size == 0 ? 0 : bytes_max(1, size);
}

Budget Codec::budget_within(std::size_t payload_bytes, std::size_t size) const {
  const std::size_t each = traits().element_bytes;
  if (each == 0) return Budget::bytes(payload_bytes);
  KIMESH_CHECK(size <= std::numeric_limits<std::uint32_t>::max(), "indices fit 32 bits");
  return Budget::keep(std::min(payload_bytes / each, size));
}

std::vector<double> Codec::divide(const SharedBudget&) const {
  check_failed(__FILE__, __LINE__, "has_curves", "a codec whose traits say has_curves");
}

std::vector<double> Codec::missing_within(const Curve&, std::span<const double>, Rounding) const {
  check_failed(__FILE__, __LINE__, "has_curves", "a codec whose traits say has_curves");
}

void Codec::describe_values(Keys& keys) const {
  const_cast<Codec*>(this)->describe(keys);  // NOLINT: the visitor reads
}

bool operator==(const Codec& a, const Codec& b) {
  const auto text_of = [](const Codec& codec) {
    return canonical_text([&](Keys& keys) { codec.describe_values(keys); });
  };
  return a.kind_name() == b.kind_name() && text_of(a) == text_of(b);
}

}  // namespace kimesh
