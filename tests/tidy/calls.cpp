#include <array>
#include <regex>

#include "tests/tidy/lines.h"
#include "tests/tidy/rules.h"

namespace kimesh::tidy {
namespace {

// These meet the world: they may read clocks and ask for chance, and hand both down as arguments.
// sim is here for its driver, which measures the wall time that a simulation took.
const std::set<std::string> kDrivers = {"link", "node", "doctor", "mesh", "cli", "sim", "http"};

struct Ban {
  std::regex call;
  std::string reason;
};

const std::array<Ban, 1>& everywhere() {
  static const std::array<Ban, 1> bans = {
      {{std::regex(R"(\b(std::)?s?rand\s*\()"), "a global generator: draw from a seeded one"}}};
  return bans;
}

const std::array<Ban, 4>& below_the_drivers() {
  static const std::array<Ban, 4> bans = {{
      {std::regex(R"(\brandom_device\b)"), "chance is an argument below the drivers"},
      {std::regex(R"(\bgetenv\b)"), "settings are arguments below the drivers"},
      {std::regex(R"(\b(system_clock|(steady|high_resolution)_clock::now)\b)"),
       "time is an argument below the drivers"},
      {std::regex(R"(\b(sleep_(for|until)|u?sleep|nanosleep)\s*\()"),
       "nothing below the drivers waits for a clock"},
  }};
  return bans;
}

// Tests read what the program wrote.
const std::array<Ban, 1>& outside_tests() {
  static const std::array<Ban, 1> bans = {
      {{std::regex(R"(\b(J|\w*j)son::parse\s*\()"),
        "JSON nests as deep as its writer likes: parse_json refuses what is too deep"}}};
  return bans;
}

const std::array<Ban, 2>& in_tests() {
  static const std::array<Ban, 2> bans = {{
      {std::regex(R"(\b(sleep_(for|until)|u?sleep|nanosleep)\s*\()"),
       "a test waits for what it wants to see, not for a time"},
      {std::regex(R"(\brandom_device\b)"), "a test draws from a seed that it prints"},
  }};
  return bans;
}

template <typename Bans>
void apply(const Bans& bans, const SourceFile& file, const std::vector<std::string>& code,
           Complaints& complaints) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const Ban& ban : bans) {
      if (std::regex_search(code[i], ban.call)) {
        complaints.push_back({file.path, i + 1, ban.reason});
      }
    }
  }
}

// A handler for everything says why, on its line or beside it.
void check_handlers(const SourceFile& file, const std::vector<std::string>& code,
                    Complaints& complaints) {
  static const std::regex handler(R"(\bcatch\s*\(\s*\.\.\.\s*\))");
  const std::vector<std::string> raw = lines_of(file.text);
  const auto says_why = [&](std::size_t line) {
    return line < raw.size() && raw[line].find("//") != std::string::npos;
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!std::regex_search(code[i], handler)) continue;
    if (says_why(i) || says_why(i + 1) || (i > 0 && says_why(i - 1))) continue;
    complaints.push_back({file.path, i + 1, "catches everything and does not say why"});
  }
}

}  // namespace

Complaints check_calls(const SourceFile& file) {
  Complaints complaints;
  const std::vector<std::string> code = lines_of(code_only(file.text));
  const bool test = file.path.starts_with("tests/");
  apply(everywhere(), file, code, complaints);
  if (test) apply(in_tests(), file, code, complaints);
  if (!test) apply(outside_tests(), file, code, complaints);
  if (!test && !kDrivers.contains(layer_of(file.path))) {
    apply(below_the_drivers(), file, code, complaints);
  }
  check_handlers(file, code, complaints);
  return complaints;
}

Complaints check_words(const SourceFile& file) {
  // Written in two halves, so that this file passes its own rule.
  static const std::regex note(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  static const std::regex machine_path(
      "(^|[^\\w.$}])/(work|t"
      "mp)/");
  Complaints complaints;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], note)) {
      complaints.push_back({file.path, i + 1, "work left undone belongs into an issue"});
    }
    if (std::regex_search(lines[i], machine_path)) {
      complaints.push_back({file.path, i + 1, "a path that only one machine has"});
    }
  }
  return complaints;
}

}  // namespace kimesh::tidy
