// The program's commands and options as data: help, manual page and completion tell the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace kimesh::cli {

// The values of options that take the path of a file or of a folder.
inline constexpr const char* kFileValue = "FILE";
inline constexpr const char* kFolderValue = "FOLDER";

struct OptionDeclaration {
  std::vector<std::string> names;  // with their dashes; of a positional its one name
  std::string value;               // FILE, FOLDER, a|b|c, or any other word; empty: a flag
  std::string help;
  bool is_positional = false;
  bool is_required = false;
  bool repeats = false;
  [[nodiscard]] bool is_file() const { return value == kFileValue; }
  [[nodiscard]] bool is_folder() const { return value == kFolderValue; }
  // What it may be, where only some words are.
  [[nodiscard]] std::vector<std::string> choices() const;
};

struct CommandDeclaration {
  std::string name, help;
  std::vector<OptionDeclaration> options;  // in the order of their declarations
};

struct ProgramDeclaration {
  std::string name, help;
  std::vector<OptionDeclaration> options;
  std::vector<CommandDeclaration> commands;
};
[[nodiscard]] ProgramDeclaration commands_of(const CLI::App& app);

// The manual page in roff, with the macros of man(7).
[[nodiscard]] std::string man_page(const ProgramDeclaration& program, std::string_view version);

enum class Shell { kBash, kFish, kZsh };
[[nodiscard]] std::string completion_script(const ProgramDeclaration& program, Shell shell);

}  // namespace kimesh::cli
