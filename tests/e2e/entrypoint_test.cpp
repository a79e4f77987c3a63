// docker/entrypoint.sh without a container: with which code it ends, so that `restart: on-failure`
// starts a node again where that helps, and only there.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <memory>
#include <utility>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"

namespace kimesh::test::entrypoint_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 8}
optimizer: {kind: sgd, lr: 0.02}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
stop: {rounds: 1000000}
checkpoint: {every_rounds: 4}
threads: 1
)";
const std::vector<std::string> kNames{"a", "b", "c"};

// Nodes as Docker starts them where it starts them again.
class Entrypoint : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml", kConfig);
    scratch.write("mesh.yaml", "kind: ring\ndead_after: 3s\nlinks: {default: {delay: 5ms}}\n" +
                                   nodes_at_own_host(kNames));
    std::filesystem::create_directory(scratch.path() + "/bin");
    std::filesystem::create_symlink(KIMESH_BINARY, scratch.path() + "/bin/kimesh");
    // In a container root would become a user that is not there in this test.
    write_program("id", "echo 1000");
  }
  // What the entrypoint finds by that name.
  void write_program(const std::string& name, const std::string& script) const {
    const std::string path = "bin/" + name;
    scratch.write(path, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(scratch.path() + "/" + path, std::filesystem::perms::owner_all);
  }

  // A gradient of the first rounds holds NaN or infinity.
  void make_steep() const {
    std::string steep = kConfig;
    steep.replace(steep.find("lr: 0.02"), 8, "lr: 10000, weight_decay: 1");
    scratch.write("config.yaml", steep);
  }
  [[nodiscard]] std::vector<std::string> words_of(const std::string& name,
                                                  const std::string& variable = "") const {
    std::vector<std::string> words{"env",
                                   "--chdir=" + scratch.path(),
                                   "PATH=" + scratch.path() + "/bin:/usr/bin:/bin",
                                   "KIMESH_NODE=" + name,
                                   "KIMESH_CONFIG=config.yaml",
                                   "KIMESH_TOPOLOGY=mesh.yaml",
                                   "KIMESH_HEALTH=" + scratch.path() + "/" + name + ".health",
                                   "KIMESH_RESTARTED=1"};
    if (!variable.empty()) words.push_back(variable);
    words.insert(words.end(), {"sh", KIMESH_SOURCE_DIR "/docker/entrypoint.sh"});
    return words;
  }
  [[nodiscard]] std::vector<std::unique_ptr<Command>> start_all(
      const std::string& variable = "") const {
    std::vector<std::unique_ptr<Command>> nodes;
    for (const std::string& name : kNames)
      nodes.push_back(std::make_unique<Command>(words_of(name, variable)));
    return nodes;
  }

  const Scratch scratch;
};

// From the same parameters and batches it would come again. Docker starts nothing again that ends
// with 0. Seen to fail: code 3 passed on.
TEST_F(Entrypoint, AGradientThatIsNotFiniteIsNotTriedAgain) {
  make_steep();
  for (const auto& node : start_all()) {
    EXPECT_EQ(node->wait(), 0) << node->said();
    EXPECT_THAT(node->said(), HasSubstr("NaN or inf"));
    EXPECT_THAT(node->said(), HasSubstr("would end with code 3 again"));
  }
}

// Kubernetes starts a pod anew whatever its code is. Seen to fail: code 3 passed on.
TEST_F(Entrypoint, AGradientThatIsNotFiniteIsNotTriedAgainWhereAPodStays) {
  make_steep();
  const auto nodes = start_all("KIMESH_STAY=1");
  for (const auto& node : nodes) {
    ASSERT_TRUE(node->says("this container stays until it is stopped")) << node->said();
    EXPECT_THAT(node->said(), HasSubstr("would end with code 3 again"));
    node->signal(SIGTERM);
    EXPECT_EQ(node->wait(), 0) << node->said();
  }
}

// Seen to fail: code 2 passed on.
TEST_F(Entrypoint, BadInputIsNotTriedAgain) {
  scratch.write("config.yaml", "model: {kind: mpl}\n");
  const CommandEnd ended = run_command(words_of("a"));
  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_THAT(ended.said, HasSubstr("would end with code 2 again"));
}

// The node itself ends with a code that starts it again, and so do all that lose it. Seen to fail:
// every code taken for one that would come again.
TEST_F(Entrypoint, ADeathIsTriedAgain) {
  const auto nodes = start_all();
  for (const auto& node : nodes) ASSERT_TRUE(node->says("\nround ")) << node->said();
  const pid_t killed = find_node_process(nodes[2]->process(), "c");
  ASSERT_GT(killed, 0);
  ::kill(killed, SIGKILL);
  EXPECT_EQ(nodes[2]->wait(), 128 + SIGKILL) << nodes[2]->said();
  for (const std::size_t other : {0, 1}) {
    EXPECT_EQ(nodes[other]->wait(), 1) << nodes[other]->said();
    EXPECT_THAT(nodes[other]->said(), Not(HasSubstr("would end with code")));
  }
}

// Where nobody else can, as in Kubernetes. Seen to fail: one of the two limits left out.
TEST_F(Entrypoint, LowersItsLimitsOnDescriptorsAndThreads) {
  std::filesystem::remove(scratch.path() + "/bin/kimesh");
  write_program("kimesh", "exec cat /proc/self/limits");
  const auto limits_with = [&](const std::string& descriptors, const std::string& threads) {
    auto words = words_of("a", "KIMESH_DESCRIPTORS=" + descriptors);
    words.insert(words.begin() + 1, "KIMESH_THREADS=" + threads);
    return run_command(words);
  };
  const CommandEnd lowered = limits_with("200", "3000");
  EXPECT_EQ(lowered.code, 0) << lowered.said;
  EXPECT_THAT(lowered.said, ContainsRegex("Max open files +200 +200 "));
  EXPECT_THAT(lowered.said, ContainsRegex("Max processes +3000 +3000 "));
  const CommandEnd same = limits_with("", "");
  EXPECT_THAT(same.said, Not(ContainsRegex("Max open files +200 ")));
}

// Seen to fail: 010 read as eight, and 08 as no number at all.
TEST_F(Entrypoint, AHostsNumberIsDecimalWhateverZerosItBeginsWith) {
  std::filesystem::remove(scratch.path() + "/bin/kimesh");
  write_program("kimesh", "echo \"$@\"");
  for (const auto& [host, node] : {std::pair("node-0", "n0"), std::pair("node-000", "n0"),
                                   std::pair("node-08", "n8"), std::pair("node-010", "n10")}) {
    auto words = words_of("", "KIMESH_NODES=n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10");
    words.insert(words.end() - 2, std::string("HOSTNAME=") + host);
    const CommandEnd ended = run_command(words);
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr("--name " + std::string(node) + " ")) << host;
  }
}

// Each variable that the entrypoint itself refuses, and what it says.
const std::vector<std::pair<std::string, std::string>> kRefused{
    {"KIMESH_SHAPE=fast", "kimesh: KIMESH_SHAPE=fast cannot be had: write a rate such"},
    {"KIMESH_DESCRIPTORS=8k", "kimesh: KIMESH_DESCRIPTORS=8k is no number: write one such"},
    {"KIMESH_THREADS=many", "kimesh: KIMESH_THREADS=many is no number: write one such"},
    {"KIMESH_NODE=", "kimesh: KIMESH_NODE is not set: write the name"}};

// Seen to fail: code 2 passed on.
TEST_F(Entrypoint, AVariableThatIsRefusedIsNotTriedAgain) {
  write_program("tc", "exit 1");
  for (const auto& [variable, sentence] : kRefused) {
    const CommandEnd ended = run_command(words_of("a", variable));
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr(sentence));
    EXPECT_THAT(ended.said, HasSubstr("would end with code 2 again"));
  }
}

// Seen to fail: a shell that stays before it hears signals.
TEST_F(Entrypoint, AVariableThatIsRefusedIsNotTriedAgainWhereAPodStays) {
  write_program("tc", "exit 1");
  for (const auto& [variable, sentence] : kRefused) {
    auto words = words_of("a", variable);
    words.insert(words.end() - 2, "KIMESH_STAY=1");
    Command node(words);
    ASSERT_TRUE(node.says("this container stays until it is stopped")) << node.said();
    EXPECT_THAT(node.said(), HasSubstr(sentence));
    node.signal(SIGTERM);
    EXPECT_EQ(node.wait(), 0) << node.said();
  }
}

// A stop that the shell has heard before it forks reaches a child that still has the shell's
// handlers. Seen to fail: a node that is told by the signal alone.
TEST_F(Entrypoint, AStopReachesANodeThatIsJustStarted) {
  std::filesystem::remove(scratch.path() + "/bin/kimesh");
  write_program("kimesh", "exec sleep infinity");
  write_program("cksum", "echo summing >&2; cat gate; echo 1 2");
  ASSERT_EQ(::mkfifo((scratch.path() + "/gate").c_str(), 0600), 0);
  for (int start = 0; start < 8; ++start) {
    Command node(words_of("a", "KIMESH_STAY=1"));
    ASSERT_TRUE(node.says("summing")) << node.said();
    node.signal(SIGTERM);
    scratch.write("gate", "");
    EXPECT_EQ(node.wait(), 128 + SIGTERM) << node.said();
  }
}

// Nobody starts such a container again: its code is for whoever reads it.
TEST_F(Entrypoint, AVariableThatIsRefusedEndsWithCode2WhereNothingIsRestarted) {
  write_program("tc", "exit 1");
  for (const auto& [variable, sentence] : kRefused) {
    auto words = words_of("a", "KIMESH_RESTARTED=");
    words.insert(words.end() - 2, variable);
    const CommandEnd ended = run_command(words);
    EXPECT_EQ(ended.code, 2) << ended.said;
    EXPECT_THAT(ended.said, HasSubstr(sentence));
    EXPECT_THAT(ended.said, Not(HasSubstr("again")));
  }
  auto words = words_of("a", "KIMESH_DESCRIPTORS=8k");
  words.push_back("--help");
  EXPECT_EQ(run_command(words).code, 2);
}

}  // namespace
}  // namespace kimesh::test::entrypoint_test
