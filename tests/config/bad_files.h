// Golden sentences: a folder of files that are wrong. Each says in comments at its end what a user
// must be told about it: `# expect: FILE:LINE: SENTENCE`, one line for each problem, in order, word
// for word; a sentence may end in ` ...` where it goes on with names of kinds that will become
// more.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kimesh/config/problem.h"

namespace kimesh {

// Names of the folder's files that begin with `prefix`. `folder` ends with a slash.
inline std::vector<std::string> bad_files(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".yaml")) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<testing::Matcher<std::string>> expected_sentences(const std::string& path) {
  const std::string mark = "# expect: ", and_so_on = " ...";
  std::vector<testing::Matcher<std::string>> sentences;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(mark)) continue;
    line.erase(0, mark.size());
    if (line.ends_with(and_so_on))
      sentences.emplace_back(testing::StartsWith(line.substr(0, line.size() - and_so_on.size())));
    else
      sentences.emplace_back(line);
  }
  return sentences;
}

// `problems` as a user reads them, without the folder.
inline std::vector<std::string> told_sentences(const std::vector<Problem>& problems,
                                               const std::string& folder) {
  std::vector<std::string> sentences;
  for (const Problem& problem : problems) {
    std::string sentence = to_string(problem);
    while (sentence.find(folder) != std::string::npos)
      sentence.erase(sentence.find(folder), folder.size());
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// As a test may be called.
inline std::string test_name(const std::string& file) {
  std::string name = file.substr(0, file.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace kimesh
