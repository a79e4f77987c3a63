#include <array>
#include <cctype>
#include <regex>

#include "tests/tidy/lines.h"
#include "tests/tidy/rules.h"

namespace kimesh::tidy {
namespace {

struct Include {
  std::size_t line;
  std::string target;
};

std::vector<Include> includes_of(std::string_view text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  std::vector<Include> found;
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_match(lines[i], match, pattern)) found.push_back({i + 1, match[1]});
  }
  return found;
}

// The layer whose own files an include names by their place: "src/link/inbox.h" → link. A layer
// includes its own by name alone, and the headers of others as "kimesh/LAYER/NAME.h".
std::string private_to(const std::string& target) {
  return target.starts_with("src/") || target.starts_with("kernels/") ? layer_of(target) : "";
}

// All that `layer` reaches over `direct`, itself among it.
std::set<std::string> closure(const std::string& layer, const Layers& direct) {
  std::set<std::string> reached = {layer};
  std::vector<std::string> open = {layer};
  while (!open.empty()) {
    const auto sees = direct.find(open.back());
    open.pop_back();
    if (sees == direct.end()) continue;
    for (const std::string& next : sees->second) {
      if (reached.insert(next).second) open.push_back(next);
    }
  }
  return reached;
}

struct Door {
  std::string_view headers;  // how its includes start
  std::set<std::string> layers;
};

const std::array<Door, 14> kDoors = {{
    {"torch/", {"train"}},
    {"ATen/", {"train"}},
    {"c10/", {"train"}},
    {"zmq", {"link"}},
    {"msgpack", {"wire"}},
    {"yaml-cpp/", {"config"}},
    {"nlohmann/", {"records", "model_files", "report", "web"}},
    {"prometheus/", {"metrics"}},
    {"httplib", {"http"}},
    {"CLI/", {"cli"}},
    {"xxh", {"util"}},
    {"cuda_runtime", {"kernels"}},
    {"stb/", {"data"}},
    {"hwy/", {"kernels"}},
}};

bool is_public_header(const SourceFile& file) {
  return file.path.find("/include/kimesh/") != std::string::npos;
}

std::string refusal(const Door& door, const SourceFile& file) {
  std::string where;
  for (const std::string& layer : door.layers) where += (where.empty() ? "src/" : ", src/") + layer;
  if (is_public_header(file)) where += " alone, and no public header";
  return std::string(door.headers) + " is included in " + where;
}

}  // namespace

Layers parse_layers(std::string_view cmake_text) {
  static const std::regex call(R"(kimesh_layer\((\w+)([^)]*)\))");
  static const std::regex word(R"([\w:]+)");
  const std::string text = without_hash_comments(cmake_text);
  Layers direct;
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
    if ((*at)[1] == "name") continue;  // the function's own definition
    std::set<std::string>& sees = direct[(*at)[1]];
    const std::string rest = (*at)[2];
    bool listing = false;
    for (std::sregex_iterator w(rest.begin(), rest.end(), word), last; w != last; ++w) {
      const std::string token = w->str();
      if (std::isupper(static_cast<unsigned char>(token[0]))) {  // a keyword
        listing = token == "SEES";
      } else if (listing) {
        sees.insert(token);
      }
    }
  }
  for (const auto& [layer, unused] : Layers(direct)) direct["cli"].insert(layer);
  Layers closed;
  for (const auto& [layer, unused] : direct) closed[layer] = closure(layer, direct);
  return closed;
}

Complaints check_layers(const SourceFile& file, const Layers& layers) {
  const std::string home = layer_of(file.path);
  if (home.empty()) return {};
  const bool test = file.path.starts_with("tests/");
  if (!test && !layers.contains(home))
    return {{file.path, 1, home + " is no kimesh_layer of CMakeLists.txt"}};
  Complaints complaints;
  for (const Include& include : includes_of(file.text)) {
    const std::string owner = private_to(include.target);
    if (include.target.starts_with(".."))
      complaints.push_back({file.path, include.line, "includes do not climb"});
    else if (!owner.empty() && (!test || (layers.contains(home) && home != owner)))
      complaints.push_back(
          {file.path, include.line, include.target + " is private to the layer " + owner});
  }
  return complaints;
}

Complaints check_doors(const SourceFile& file) {
  Complaints complaints;
  const std::string home = layer_of(file.path);
  const bool whole = file.path.starts_with("tests/e2e/") ||
                     file.path.starts_with("tests/docker/") ||
                     file.path.starts_with("tests/bench/");
  for (const Include& include : includes_of(file.text)) {
    for (const Door& door : kDoors) {
      if (!include.target.starts_with(door.headers)) continue;
      const bool reads_json = whole && door.headers == "nlohmann/";  // what the program wrote
      const bool has_arguments = home == "bench" && door.headers == "CLI/";
      if ((door.layers.contains(home) && !is_public_header(file)) || reads_json || has_arguments)
        continue;
      complaints.push_back({file.path, include.line, refusal(door, file)});
    }
    if (home == "train" && include.target.starts_with("fmt/")) {
      complaints.push_back(
          {file.path, include.line, "LibTorch brings a fmt of its own: src/train does without"});
    }
  }
  return complaints;
}

std::string layer_of(std::string_view path) {
  if (path.starts_with("kernels/")) return "kernels";
  for (const std::string_view top : {"src/", "tests/"}) {
    if (!path.starts_with(top)) continue;
    const std::string_view rest = path.substr(top.size());
    const std::size_t slash = rest.find('/');
    return slash == std::string_view::npos ? "" : std::string(rest.substr(0, slash));
  }
  return "";
}

}  // namespace kimesh::tidy
