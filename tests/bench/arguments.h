// The words behind a benchmark's name.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>

#include "kimesh/util/check.h"

namespace kimesh::bench {

// `--name value` each; the comment at the head of a benchmark's file says what they mean.
class Arguments {
 public:
  // Ends the program after `--help`, and with code 2 where a word is none of these names.
  Arguments(int count, char** words, std::initializer_list<std::string> names) {
    constexpr int kWrongWords = 2;
    CLI::App app("See the comment at the head of tests/bench/*.cpp.");
    for (const std::string& name : names) app.add_option(name, values_[name]);
    try {
      app.parse(count, words);
    } catch (const CLI::ParseError& error) {
      std::exit(app.exit(error) == 0 ? 0 : kWrongWords);
    }
  }
  // The value of a name; where none was given, or an empty one, `otherwise`.
  [[nodiscard]] std::string operator()(const std::string& name,
                                       const std::string& otherwise) const {
    const auto value = values_.find(name);
    KIMESH_CHECK(value != values_.end(), "an argument that the benchmark names");
    return value->second.empty() ? otherwise : value->second;
  }
  [[nodiscard]] std::string operator()(const std::string& name) const { return (*this)(name, ""); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace kimesh::bench
