// kimesh completion SHELL: commands, options and their values, as the declarations have them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "declarations.h"

namespace kimesh::cli {
namespace {

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> command_names(const ProgramDeclaration& program) {
  std::vector<std::string> names;
  for (const CommandDeclaration& command : program.commands) names.push_back(command.name);
  return names;
}

// Quotes for the shell: '...' with its own quotes written outside.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// ---- bash

std::string bash_values(const OptionDeclaration& option) {
  if (option.is_file()) return "_kimesh_paths -f";
  if (option.is_folder()) return "_kimesh_paths -d";
  return fmt::format("_kimesh_words '{}'", join(option.choices()));
}

std::string bash_command(const CommandDeclaration& command) {
  std::string cases, positionals;
  std::vector<std::string> names;
  for (const OptionDeclaration& option : command.options) {
    if (option.is_positional) {
      positionals += fmt::format("      {}\n", bash_values(option));
      continue;
    }
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    cases += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                         bash_values(option));
  }
  std::string text = fmt::format("    {})\n", command.name);
  if (!cases.empty()) text += "      case $before in\n" + cases + "      esac\n";
  text +=
      fmt::format("      [[ $word == -* ]] && {{ _kimesh_words '{}'; return; }}\n", join(names));
  return text + positionals + "      ;;\n";
}

std::string bash_script(const ProgramDeclaration& program) {
  std::string cases;
  for (const CommandDeclaration& command : program.commands) cases += bash_command(command);
  return fmt::format(R"(# Completion of {0} for bash: source <({0} completion bash)
_kimesh_words() {{
  local found
  while read -r found; do COMPREPLY+=("$found"); done < <(compgen -W "$1" -- "$word")
}}
_kimesh_paths() {{
  local found
  compopt -o filenames 2>/dev/null
  while read -r found; do COMPREPLY+=("$found"); done < <(compgen "$1" -- "$word")
}}
_kimesh() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _kimesh_words '{1}'
    return
  fi
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  case ${{COMP_WORDS[1]}} in
{2}  esac
}}
complete -F _kimesh {0}
)",
                     program.name, join(command_names(program)), cases);
}

// ---- zsh

std::string zsh_values(const OptionDeclaration& option) {
  if (option.is_file()) return "_files";
  if (option.is_folder()) return "_files -/";
  if (const auto choices = option.choices(); !choices.empty())
    return fmt::format("({})", join(choices));
  return " ";
}

// Brackets and colons part the fields of a specification.
std::string zsh_field(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_command(const CommandDeclaration& command) {
  std::string text = fmt::format("    {})\n      _arguments -S", command.name);
  const auto add = [&](const std::string& specification) {
    text += " \\\n        " + quoted(specification);
  };
  for (const OptionDeclaration& option : command.options) {
    const std::string value =
        option.value.empty() ? ""
                             : fmt::format(":{}:{}", zsh_field(option.value), zsh_values(option));
    if (option.is_positional) {
      add(fmt::format("{}:{}:{}", option.repeats ? "*" : "", zsh_field(option.names.front()),
                      zsh_values(option)));
      continue;
    }
    for (const std::string& name : option.names)
      add(fmt::format("{}{}[{}]{}", name, value.empty() || !name.starts_with("--") ? "" : "=",
                      zsh_field(option.help), value));
  }
  return text + "\n      ;;\n";
}

std::string zsh_script(const ProgramDeclaration& program) {
  std::string names, cases;
  for (const CommandDeclaration& command : program.commands) {
    names += fmt::format("    {}\n", quoted(command.name + ":" + zsh_field(command.help)));
    cases += zsh_command(command);
  }
  return fmt::format(R"(#compdef {0}
# Completion of {0} for zsh: a file _{0} in a folder of $fpath, or source <({0} completion zsh)
_{0}() {{
  local -a commands
  commands=(
{1}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
{2}  esac
}}
compdef _{0} {0}
)",
                     program.name, names, cases);
}

// ---- fish

std::string fish_values(const OptionDeclaration& option) {
  if (option.is_file()) return " -r -F";
  if (option.is_folder()) return " -x -a '(__fish_complete_directories)'";
  if (const auto choices = option.choices(); !choices.empty())
    return fmt::format(" -x -a {}", quoted(join(choices)));
  return option.value.empty() ? "" : " -x";
}

std::string fish_script(const ProgramDeclaration& program) {
  std::string text = fmt::format(
      "# Completion of {0} for fish: {0} completion fish | source\ncomplete -c {0} -f\n",
      program.name);
  for (const CommandDeclaration& command : program.commands) {
    text += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d {}\n", program.name,
                        command.name, quoted(command.help));
    const std::string here = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'",
                                         program.name, command.name);
    for (const OptionDeclaration& option : command.options) {
      if (option.is_positional) {
        if (option.is_file())
          text += here + " -F\n";
        else if (option.is_folder() || !option.choices().empty())
          text += here + fish_values(option).substr(3) + "\n";
        continue;
      }
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += here + names + fish_values(option) + " -d " + quoted(option.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const ProgramDeclaration& program, Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return bash_script(program);
    case Shell::kZsh:
      return zsh_script(program);
    case Shell::kFish:
      return fish_script(program);
  }
  return {};
}

}  // namespace kimesh::cli
