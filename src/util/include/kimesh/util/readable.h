// Whether a file that a user names can be read, and where its text begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kimesh {

// Spreadsheets put it in front of a file in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Why the file cannot be opened and read again and again, as "Permission denied" or "it is a
// folder". Nothing: it can.
[[nodiscard]] std::optional<std::string> why_unreadable(const std::string& path);

}  // namespace kimesh
