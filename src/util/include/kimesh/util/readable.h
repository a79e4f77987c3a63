// Whether a file that a user names can be read.
#pragma once

#include <optional>
#include <string>

namespace kimesh {

// Why the file cannot be opened and read again and again, as "Permission denied" or "it is a
// folder". Nothing: it can.
[[nodiscard]] std::optional<std::string> why_unreadable(const std::string& path);

}  // namespace kimesh
