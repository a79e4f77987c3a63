#include "tests/tidy/lines.h"

#include <algorithm>

namespace kimesh::tidy {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::size_t columns_of(std::string_view line) {
  const auto starts_code_point = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  return static_cast<std::size_t>(std::ranges::count_if(line, starts_code_point));
}

std::string without_hash_comments(std::string_view text) {
  std::string out;
  for (const std::string& line : lines_of(text)) {
    out += line.substr(0, line.find('#'));
    out += '\n';
  }
  return out;
}

}  // namespace kimesh::tidy
