#include "kimesh/report/four_digits.h"

#include <charconv>
#include <cmath>

#include "kimesh/util/check.h"

namespace kimesh {

double four_digits(double value) {
  KIMESH_CHECK(std::isfinite(value), "a finite value");
  // Through text, so that the shortest text of the result has no further digits.
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 3);
  double rounded = 0;
  std::from_chars(text, end.ptr, rounded);
  return rounded;
}

}  // namespace kimesh
