// What options of the command line take.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "declarations.h"
#include "kimesh/util/units.h"

namespace kimesh::cli {

// The kinds of values: completion knows files and folders by these names.
inline constexpr const char *kFile = kFileValue, *kFolder = kFolderValue, *kName = "NAME",
                            *kNode = "NODE", *kTime = "TIME", *kSize = "SIZE",
                            *kAddress = "HOST:PORT", *kText = "TEXT";

inline constexpr const char* kPageAddress = "127.0.0.1:9200";
inline constexpr const char* kTokenHelp = "file with the token that readers of the page must know";

// An option whose values have names; help and completion know them.
template <typename Value>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Value& value,
                        const std::map<std::string, Value>& choices, const std::string& help) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return command
      .add_option_function<std::string>(
          name,
          [&value, name, choices, names](const std::string& text) {
            const auto choice = choices.find(text);
            if (choice == choices.end())
              throw CLI::ValidationError(
                  fmt::format("{} is '{}'. Write one of: {}", name, text, fmt::join(names, ", ")));
            value = choice->second;
          },
          help)
      ->type_name(fmt::format("{}", fmt::join(names, "|")));
}

// An option whose value is a number of bytes above 0, such as 4GiB.
inline CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& bytes,
                             const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&bytes, name](const std::string& text) {
            const auto size = parse_bytes(text);
            if (!size) throw CLI::ValidationError(name, size.error().message);
            if (*size == 0)
              throw CLI::ValidationError(name, text + " is not above 0; write a size such as 4GiB");
            bytes = *size;
          },
          help)
      ->type_name(kSize);
}

}  // namespace kimesh::cli
