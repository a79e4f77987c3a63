// What this library calls itself in records.
#pragma once

#include <string>

namespace kimesh {

// Compiler and whether it optimised: what equal bits may depend on.
[[nodiscard]] std::string build_text();
// Date and time of now, UTC: "2026-01-31T23:59:59Z".
[[nodiscard]] std::string date_and_time();

}  // namespace kimesh
