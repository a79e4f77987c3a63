// Numbers as a page shows them.
#pragma once

namespace kimesh {

// The value rounded to four significant digits, which are more than a drawing shows. Requires a
// finite value.
[[nodiscard]] double four_digits(double value);

}  // namespace kimesh
