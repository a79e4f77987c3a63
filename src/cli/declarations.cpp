#include "declarations.h"

#include <CLI/CLI.hpp>

namespace kimesh::cli {
namespace {

// CLI11 adds what a value is checked for behind a colon of its own.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  std::string name = option.get_type_name();
  for (const char* check : {":INT in ", ":UINT in ", ":FLOAT in "})
    name = name.substr(0, name.find(check));
  return name;
}

std::vector<OptionDeclaration> options_of(const CLI::App& app) {
  std::vector<OptionDeclaration> options;
  for (const CLI::Option* option : app.get_options()) {
    OptionDeclaration declared;
    for (const std::string& name : option->get_snames()) declared.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) declared.names.push_back("--" + name);
    declared.is_positional = declared.names.empty();
    if (declared.is_positional) declared.names.push_back(option->get_name(true));
    declared.value = value_of(*option);
    declared.help = option->get_description();
    declared.is_required = option->get_required();
    declared.repeats = option->get_items_expected_max() > 1;
    options.push_back(std::move(declared));
  }
  return options;
}

}  // namespace

std::vector<std::string> OptionDeclaration::choices() const {
  if (value.find('|') == std::string::npos) return {};
  return CLI::detail::split(value, '|');
}

ProgramDeclaration commands_of(const CLI::App& app) {
  ProgramDeclaration program{app.get_name(), app.get_description(), options_of(app), {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    program.commands.push_back(
        {command->get_name(), command->get_description(), options_of(*command)});
  return program;
}

}  // namespace kimesh::cli
