// What this library calls itself in records.
#pragma once

#include <string>

namespace kimesh {

// What nodes must agree on of the program: the version of kimesh, and the forms of codecs that the
// program added: "0.1.0 with 128 mine, 129 yours".
[[nodiscard]] std::string version_in_hello();
// Compiler and whether it optimised: what equal bits may depend on.
[[nodiscard]] std::string build_text();
// Date and time of now, UTC: "2026-01-31T23:59:59Z".
[[nodiscard]] std::string date_and_time();

}  // namespace kimesh
