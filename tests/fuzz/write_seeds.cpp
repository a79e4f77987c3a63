// fuzz_seeds FOLDER [NAME...]: writes FOLDER/NAME/000, 001, ... for every target, or for these.
// Prints the names.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "tests/fuzz/target.h"

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.empty()) {
    std::fputs("usage: fuzz_seeds FOLDER [NAME...]\n", stderr);
    return 2;
  }
  const auto targets = kimesh::fuzz::all_targets();
  const auto wanted = std::span(words).subspan(1);
  for (const std::string& name : wanted) {
    if (std::ranges::find(targets, name, &kimesh::fuzz::Target::name) != targets.end()) continue;
    std::fprintf(stderr, "fuzz_seeds: there is no target %s; there are:", name.c_str());
    for (const auto& target : targets) std::fprintf(stderr, " %s", target.name.data());
    std::fputs("\n", stderr);
    return 2;
  }
  for (const auto& target : targets) {
    if (!wanted.empty() && std::ranges::find(wanted, target.name) == wanted.end()) continue;
    const std::filesystem::path folder = std::filesystem::path(words[0]) / target.name;
    std::filesystem::create_directories(folder);
    const auto seeds = target.seeds();
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const std::string number = std::to_string(1000 + i).substr(1);
      std::ofstream(folder / number, std::ios::binary)
          .write(reinterpret_cast<const char*>(seeds[i].data()),
                 static_cast<std::streamsize>(seeds[i].size()));
    }
    std::printf("%s\n", target.name.data());
  }
  return 0;
}
