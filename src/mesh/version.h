// The names of this library and its build in hellos and records.
#pragma once

#include <string>

namespace kimesh {

// The part of the program that nodes must agree on: the version of kimesh, and the forms of codecs
// that the program added: "0.1.0 with 128 mine, 129 yours".
[[nodiscard]] std::string version_in_hello();
// The compiler and whether it optimised, on which the bits of a run may depend.
[[nodiscard]] std::string build_text();
// The current date and time, UTC: "2026-01-31T23:59:59Z".
[[nodiscard]] std::string date_and_time();

}  // namespace kimesh
