// What the pictures of topologies share.
#pragma once

#include <string>
#include <vector>

#include "kimesh/topology/topology_file.h"

namespace kimesh {

inline constexpr std::size_t kPictureColumnsMax = 90;  // fits a terminal, with room for the margin
inline constexpr std::size_t kPictureRowsMax = 12;     // more rows no longer show the shape

// The first rows, with a last one that counts those left out.
[[nodiscard]] std::vector<std::string> picture_rows(std::vector<std::string> rows);
// The same as text, each row two spaces from the margin.
[[nodiscard]] std::string picture_of(std::vector<std::string> rows);
[[nodiscard]] std::vector<std::string> names_of(const TopologyFile& topology);

}  // namespace kimesh
