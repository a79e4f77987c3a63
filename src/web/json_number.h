// Numbers of the state. Private to the layer.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kimesh/report/four_digits.h"

namespace kimesh {

inline nlohmann::ordered_json number(double value) {
  if (std::isfinite(value)) return four_digits(value);
  return nullptr;
}
inline nlohmann::ordered_json number(const std::optional<double>& value) {
  if (value) return number(*value);
  return nullptr;
}

}  // namespace kimesh
