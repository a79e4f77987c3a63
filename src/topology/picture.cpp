#include "picture.h"

#include <fmt/format.h>

namespace kimesh {

std::vector<std::string> picture_rows(std::vector<std::string> rows) {
  if (rows.size() <= kPictureRowsMax) return rows;
  const std::size_t left_out = rows.size() - (kPictureRowsMax - 1);
  rows.resize(kPictureRowsMax - 1);
  rows.push_back(fmt::format("({} more)", left_out));
  return rows;
}

std::string picture_of(std::vector<std::string> rows) {
  std::string text;
  for (const std::string& row : picture_rows(std::move(rows))) text += fmt::format("  {}\n", row);
  return text;
}

std::vector<std::string> names_of(const TopologyFile& topology) {
  std::vector<std::string> names;
  for (const NodeSpec& node : topology.nodes) names.push_back(node.name);
  return names;
}

}  // namespace kimesh
