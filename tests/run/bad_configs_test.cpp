// Every config-* of bad/ is refused with the sentences that stand at its end: see bad_files.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/run/run_config.h"
#include "tests/config/bad_files.h"
#include "tests/run/stand_in_models.h"

namespace kimesh::bad_configs_test {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/run/bad/";

class BadConfig : public testing::TestWithParam<std::string> {};

// Seen to fail with a range check taken out, and with a reader that stops at its first problem.
TEST_P(BadConfig, IsRefusedWithTheSentencesItExpects) {
  const auto sentences = expected_sentences(kFolder + GetParam());
  EXPECT_FALSE(sentences.empty()) << "the file has no `# expect:` line";
  EXPECT_THAT(told_sentences(load_config(kFolder + GetParam()).problems, kFolder),
              testing::ElementsAreArray(sentences));
}

INSTANTIATE_TEST_SUITE_P(Golden, BadConfig, testing::ValuesIn(bad_files(kFolder, "config-")),
                         [](const auto& file) { return test_name(file.param); });

TEST(BadConfigs, AreMany) {
  EXPECT_GE(bad_files(kFolder, "config-").size(), 40u);
}

TEST(BadConfigs, AreRefusedWhenTheyAreMissingOrHuge) {
  const std::string missing = kFolder + "no-such-file.yaml";
  ASSERT_EQ(load_config(missing).problems.size(), 1u);
  EXPECT_EQ(to_string(load_config(missing).problems[0]),
            missing + ": the file cannot be read: No such file or directory. Check the path.");
  const std::string huge = testing::TempDir() + "kimesh-huge.yaml";
  std::ofstream(huge) << std::string(2 << 20, ' ');
  EXPECT_EQ(to_string(load_config(huge).problems.at(0)),
            huge + ": the file cannot be read: it is larger than 1048576 bytes. Check the path.");
  std::filesystem::remove(huge);
}

}  // namespace
}  // namespace kimesh::bad_configs_test
