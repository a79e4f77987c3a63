// Parts of the pictures of all kinds.
#pragma once

#include <string>
#include <vector>

#include "kimesh/topology/topology_file.h"

namespace kimesh {

inline constexpr std::size_t kPictureColumnsMax = 90;  // fits a terminal, with room for the margin
inline constexpr std::size_t kPictureRowsMax = 12;     // more rows no longer show the shape

// `rows`, where the last one counts those left out if there are more than kPictureRowsMax.
[[nodiscard]] std::vector<std::string> picture_rows(std::vector<std::string> rows);
// The same as text, each row indented by two spaces.
[[nodiscard]] std::string picture_of(std::vector<std::string> rows);
[[nodiscard]] std::vector<std::string> names_of(const TopologyFile& topology);

}  // namespace kimesh
