// Every file in bad/ is wrong, and says in comments at its end what a user must be told about it:
// `# expect: FILE:LINE: SENTENCE`, one line for each problem, in order, word for word.
// bad/topology-* are topologies, bad/config-* are configs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kimesh/config/run_config.h"

namespace kimesh {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/config/bad/";

std::vector<std::string> bad_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> expected(const std::string& file) {
  const std::string mark = "# expect: ";
  std::vector<std::string> sentences;
  std::ifstream in(kFolder + file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(mark)) sentences.push_back(line.substr(mark.size()));
  return sentences;
}

std::vector<std::string> told(const std::string& file) {
  const bool topology = file.starts_with("topology-");
  const auto problems =
      topology ? load_topology(kFolder + file).problems : load_config(kFolder + file).problems;
  std::vector<std::string> sentences;
  for (const Problem& problem : problems) {
    std::string sentence = to_string(problem);
    while (sentence.find(kFolder) != std::string::npos)
      sentence.erase(sentence.find(kFolder), kFolder.size());
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

class BadFile : public testing::TestWithParam<std::string> {};

// Seen to fail with a range check taken out, and with a reader that stops at its first problem.
TEST_P(BadFile, IsRefusedWithTheSentencesItExpects) {
  const auto sentences = expected(GetParam());
  EXPECT_FALSE(sentences.empty()) << "the file has no `# expect:` line";
  EXPECT_THAT(told(GetParam()), testing::ElementsAreArray(sentences));
}

INSTANTIATE_TEST_SUITE_P(Golden, BadFile, testing::ValuesIn(bad_files()), [](const auto& file) {
  std::string name = file.param.substr(0, file.param.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(BadFiles, AreMany) {
  EXPECT_GE(bad_files().size(), 40u);
}

TEST(BadFiles, AreRefusedWhenTheyAreMissingFoldersOrHuge) {
  const std::string missing = kFolder + "no-such-file.yaml";
  ASSERT_EQ(load_config(missing).problems.size(), 1u);
  EXPECT_EQ(to_string(load_config(missing).problems[0]),
            missing + ": the file cannot be read: No such file or directory. Check the path.");
  EXPECT_EQ(to_string(load_topology(kFolder).problems.at(0)),
            kFolder + ": the file cannot be read: it is a folder. Check the path.");
  const std::string huge = testing::TempDir() + "kimesh-huge.yaml";
  std::ofstream(huge) << std::string(2 << 20, ' ');
  EXPECT_EQ(to_string(load_config(huge).problems.at(0)),
            huge + ": the file cannot be read: it is larger than 1048576 bytes. Check the path.");
  std::filesystem::remove(huge);
}

}  // namespace
}  // namespace kimesh
