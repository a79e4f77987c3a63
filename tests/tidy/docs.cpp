#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>

#include "tests/tidy/lines.h"
#include "tests/tidy/rules.h"

namespace kimesh::tidy {
namespace {

namespace fs = std::filesystem;

// Layers that `layer` may include, less those that one of the others may include as well.
std::vector<std::string> nearest(const std::string& layer, const Layers& layers) {
  std::vector<std::string> near;
  for (const std::string& low : layers.at(layer)) {
    const bool is_behind_another = std::ranges::any_of(layers.at(layer), [&](const auto& other) {
      return other != layer && other != low && layers.at(other).contains(low);
    });
    if (low != layer && !is_behind_another) near.push_back(low);
  }
  return near;
}

std::size_t level_of(const std::string& layer, const Layers& layers) {
  std::size_t level = 0;
  for (const std::string& low : nearest(layer, layers)) {
    level = std::max(level, level_of(low, layers) + 1);
  }
  return level;
}

// "Where it stands" -> "where-it-stands", as hosts of repositories make anchors.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(byte));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

bool has_anchor(const std::string& text, const std::string& anchor) {
  const std::vector<std::string> lines = lines_of(text);
  return std::ranges::any_of(lines, [&](const std::string& line) {
    const std::size_t hashes = line.find_first_not_of('#');
    return line.starts_with('#') && hashes != std::string::npos && line[hashes] == ' ' &&
           anchor_of(std::string_view(line).substr(hashes + 1)) == anchor;
  });
}

std::string complaint_about_link(const std::string& target, const SourceFile& page,
                                 const ReadFile& read) {
  const std::size_t hash = target.find('#');
  const std::string path = target.substr(0, hash);
  const std::string place =
      path.empty() ? page.path
                   : (fs::path(page.path).parent_path() / path).lexically_normal().generic_string();
  const std::optional<std::string> text = read(place);
  if (!text) return "there is no " + place;
  if (hash != std::string::npos && !has_anchor(*text, target.substr(hash + 1))) {
    return "no heading of " + place + " makes " + target.substr(hash);
  }
  return "";
}

// Whether the parts of `quote` (`...` on a line of its own divides them) come in this order.
bool is_quoted_from(const std::string& text, const std::vector<std::string>& quote) {
  std::size_t from = 0;
  std::string part;
  const auto found = [&] {
    const std::size_t at = text.find(part, from);
    if (at == std::string::npos) return false;
    from = at + part.size();
    part.clear();
    return true;
  };
  for (const std::string& line : quote) {
    if (line != "...") {
      part += line + "\n";
    } else if (!found()) {
      return false;
    }
  }
  return found();
}

}  // namespace

std::string draw_layers(const Layers& layers) {
  std::vector<std::pair<std::size_t, std::string>> order;
  std::size_t width = 0;
  for (const auto& [layer, unused] : layers) {
    order.emplace_back(level_of(layer, layers), layer);
    width = std::max(width, layer.size());
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string picture;
  for (const auto& [level, layer] : order) {
    const std::string number = std::to_string(level);
    std::string line = std::string(2 - std::min<std::size_t>(2, number.size()), ' ') + number;
    line += "  " + layer;
    std::string separator = std::string(width - layer.size(), ' ') + " -> ";
    for (const std::string& low : nearest(layer, layers)) {
      line += separator + low;
      separator = ", ";
    }
    picture += line + "\n";
  }
  return picture;
}

std::string block_after(std::string_view marker, std::string_view text) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos) return "";
  const std::size_t fence = text.find("```", at);
  if (fence == std::string_view::npos) return "";
  const std::size_t begin = text.find('\n', fence) + 1;
  return std::string(text.substr(begin, text.find("```", begin) - begin));
}

Complaints check_links(const SourceFile& page, const ReadFile& read) {
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  Complaints complaints;
  const std::vector<std::string> lines = lines_of(page.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.find("://") != std::string::npos) continue;
      const std::string complaint = complaint_about_link(target, page, read);
      if (!complaint.empty()) complaints.push_back({page.path, i + 1, complaint});
    }
  }
  return complaints;
}

Complaints check_quotes(const SourceFile& page, const ReadFile& read) {
  static const std::regex fence(R"(```\w+ ([\w./]+))");
  Complaints complaints;
  const std::vector<std::string> lines = lines_of(page.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(lines[i], match, fence)) continue;
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto end = std::find(begin, lines.end(), "```");
    const std::optional<std::string> text = read(match[1]);
    if (!text || !is_quoted_from(*text, {begin, end})) {
      complaints.push_back({page.path, i + 1, "quotes what does not stand in " + match[1].str()});
    }
  }
  return complaints;
}

Complaints check_references(const SourceFile& file) {
  // In two halves, as in check_words.
  static const std::regex outside(
      "\\b(design|fac"
      "ts)\\.md\\b|\\(design[,:)]|\\bdesign, (section|invariant)|\\bdesign section"
      "|\\b[Ff]acts(:| say|, |\\))");
  Complaints complaints;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool may =
        lines[i].find("esign") != std::string::npos || lines[i].find("acts") != std::string::npos;
    if (may && std::regex_search(lines[i], outside)) {
      complaints.push_back({file.path, i + 1, "refers to a file that the repository has not"});
    }
  }
  return complaints;
}

}  // namespace kimesh::tidy
