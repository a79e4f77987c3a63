// The files of topologies/. A test of all of them holds a new kind to what every kind promises as
// soon as a file of it ships.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace kimesh::test {

inline std::string shipped_path(const std::string& name) {
  return KIMESH_SOURCE_DIR "/topologies/" + name + ".yaml";
}

// Names without ".yaml", sorted.
inline std::vector<std::string> shipped_topologies() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KIMESH_SOURCE_DIR "/topologies"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// Those whose links keep one rate: a prediction takes a trace at its mean.
inline std::vector<std::string> shipped_without_traces() {
  std::vector<std::string> names = shipped_topologies();
  std::erase_if(names, [](const std::string& name) {
    std::ifstream in(shipped_path(name));
    return std::string(std::istreambuf_iterator<char>(in), {}).find("trace:") != std::string::npos;
  });
  return names;
}

// As a test may be called.
inline std::string shipped_test_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace kimesh::test
