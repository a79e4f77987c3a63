// Small helpers of the rules.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kimesh::tidy {

// Without their line ends; a last line without one counts.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

// Columns on a screen: code points of UTF-8, not bytes.
[[nodiscard]] std::size_t columns_of(std::string_view line);

// For CMake: from '#' to the end of each line is gone.
[[nodiscard]] std::string without_hash_comments(std::string_view text);

}  // namespace kimesh::tidy
