// The one place that sees yaml-cpp: a YAML file as a plain tree, in which every value and key knows
// its line. Aliases are refused, so a small file stays a small tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kimesh/config/complaints.h"

namespace kimesh {

struct YamlMember;

struct YamlValue {
  enum class Kind { kNothing, kText, kList, kMap };
  Kind kind = Kind::kNothing;
  int line = 1;                     // from 1
  std::string text;                 // kText: as written, without quotes
  std::vector<YamlValue> items;     // kList
  std::vector<YamlMember> members;  // kMap, in the order of the file; keys may repeat
};

struct YamlMember {
  std::string key;
  int line = 1;
  YamlValue value;
};

// Reads a YAML file. Returns nothing when it cannot be read or is no YAML; `complaints` says why
// then.
[[nodiscard]] std::optional<YamlValue> read_yaml(const std::string& path, Complaints& complaints);

// The same for a text, which the complaints' file name stands for.
[[nodiscard]] std::optional<YamlValue> parse_yaml(const std::string& text, Complaints& complaints);

// The text of a file of at most `bytes_max` bytes. Returns nothing on failure; `why` is half a
// sentence about it then.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path, std::size_t bytes_max,
                                                   std::string& why);

// The place of `path`, which the file at `file` names: relative paths count from that file's
// folder.
[[nodiscard]] std::string path_beside(const std::string& file, const std::string& path);

// The same for the file that is being read. Beside a copy lie only some of the files that it names:
// where nothing lies at `path`, it counts from the folder of what was copied.
[[nodiscard]] std::string resolve_path(const std::string& path, const Complaints& complaints);

}  // namespace kimesh
