// hosts.yaml, and every hosts-* of bad/, which is refused with the sentences that stand at its end.
#include "kimesh/run/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/bad_files.h"
#include "tests/config/text_file.h"

namespace kimesh::hosts_file_test {
namespace {

const std::string kFolder = KIMESH_SOURCE_DIR "/tests/run/bad/";

class BadHosts : public testing::TestWithParam<std::string> {};

TEST_P(BadHosts, IsRefusedWithTheSentencesItExpects) {
  const auto sentences = expected_sentences(kFolder + GetParam());
  EXPECT_FALSE(sentences.empty()) << "the file has no `# expect:` line";
  EXPECT_THAT(told_sentences(load_hosts(kFolder + GetParam()).problems, kFolder),
              testing::ElementsAreArray(sentences));
}

INSTANTIATE_TEST_SUITE_P(Golden, BadHosts, testing::ValuesIn(bad_files(kFolder, "hosts-")),
                         [](const auto& file) { return test_name(file.param); });

TEST(HostsFile, FillsInWhatAHostLeavesOut) {
  const TextFile file(
      "hosts.yaml",
      "folder: all\noptions: [-4]\nbundle: there\n"
      "hosts:\n  a: {ssh: anna@one}\n  b: {ssh: two, folder: /own, options: [-p, \"22\"]}\n");
  const auto loaded = load_hosts(file.path());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.problems.front());
  const auto& hosts = loaded.value.hosts;
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "a");
  EXPECT_EQ(hosts[0].ssh, "anna@one");
  EXPECT_EQ(hosts[0].folder, "all");
  EXPECT_THAT(hosts[0].options, testing::ElementsAre("-4"));
  EXPECT_EQ(hosts[1].folder, "/own");
  EXPECT_THAT(hosts[1].options, testing::ElementsAre("-4", "-p", "22"));
  EXPECT_TRUE(loaded.value.bundle.ends_with("/there")) << loaded.value.bundle;
}

}  // namespace
}  // namespace kimesh::hosts_file_test
