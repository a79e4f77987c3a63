// Every topology-* of bad/ is refused with the sentences that stand at its end: see bad_files.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/topology/topology_file.h"
#include "tests/config/bad_files.h"

namespace kimesh::bad_topologies_test {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/topology/bad/";

class BadTopology : public testing::TestWithParam<std::string> {};

// Seen to fail with a range check taken out, and with a reader that stops at its first problem.
TEST_P(BadTopology, IsRefusedWithTheSentencesItExpects) {
  const auto sentences = expected_sentences(kFolder + GetParam());
  EXPECT_FALSE(sentences.empty()) << "the file has no `# expect:` line";
  EXPECT_THAT(told_sentences(load_topology(kFolder + GetParam()).problems, kFolder),
              testing::ElementsAreArray(sentences));
}

INSTANTIATE_TEST_SUITE_P(Golden, BadTopology, testing::ValuesIn(bad_files(kFolder, "topology-")),
                         [](const auto& file) { return test_name(file.param); });

TEST(BadTopologies, AreMany) {
  EXPECT_GE(bad_files(kFolder, "topology-").size(), 40u);
}

TEST(BadTopologies, AreRefusedWhenTheyAreFolders) {
  EXPECT_EQ(to_string(load_topology(kFolder).problems.at(0)),
            kFolder + ": the file cannot be read: it is a folder. Check the path.");
}

}  // namespace
}  // namespace kimesh::bad_topologies_test
