// A run whose nodes were all killed goes on from its checkpoints; what cannot be gone on from is
// refused before anything is touched.
#include <gmock/gmock.h>

#include "tests/e2e/program.h"

namespace kimesh::test {
namespace {

using testing::HasSubstr;

constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [16]}
data: {kind: digits, batch: 8}
optimizer: {kind: sgd, lr: 0.02, momentum: 0.9}
compression: {policy: fixed, compressor: topk, ratio: 0.05}
stop: {rounds: 200}
checkpoint: {every_rounds: 4}
threads: 1
)";

class Resume : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml", kConfig);
    std::string mesh = "kind: parameter_server\nnodes:\n";
    int port = 7101;
    for (const char* name : {"a", "b", "c"})
      mesh += std::string("  ") + name + ": {address: \"tcp://" + own_host() + ":" +
              std::to_string(port++) + "\"}\n";
    scratch.write("mesh.yaml", mesh + "links: {default: {delay: 5ms}}\n");
  }
  void TearDown() override { EXPECT_TRUE(Program::all_gone()) << "something is left running"; }

  static std::vector<std::string> up(const std::string& run) {
    return {"up", "--config", "config.yaml", "--topology", "mesh.yaml", "--run", run};
  }
  // A run whose nodes were all killed once there were checkpoints.
  void kill_all(const std::string& run) {
    Program program(scratch, up(run));
    ASSERT_TRUE(program.says("\nround ")) << program.wait().err;
    while (newest(run, "c").empty()) std::this_thread::yield();
    for (const char* name : {"a", "b", "c"})
      ::kill(find_node_process(program.process(), name), SIGKILL);
    EXPECT_EQ(program.wait().code, 1);
  }
  // The path of a node's newest checkpoint; empty: there is none.
  [[nodiscard]] std::string newest(const std::string& run, const std::string& node) const {
    std::string path;
    long highest = -1;
    std::error_code code;
    const std::string folder = scratch.run_file(run, "checkpoints/" + node);
    for (const auto& file : std::filesystem::directory_iterator(folder, code)) {
      if (file.path().extension() != ".checkpoint") continue;
      const long round = std::stol(file.path().stem().string());
      if (round > highest) path = file.path().string();
      highest = std::max(highest, round);
    }
    return path;
  }
  // `words` end with code 2 and this sentence, and leave the run's files as they are.
  void expect_refused(const std::vector<std::string>& words, const std::string& sentence) {
    const std::string records = read_text(scratch.run_file("r", "nodes/a.jsonl"));
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_THAT(ended.err, HasSubstr(sentence));
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
    EXPECT_EQ(read_text(scratch.run_file("r", "nodes/a.jsonl")), records);
  }

  const Scratch scratch;
};

// The replay of both parts ends with the same bits, too.
TEST_F(Resume, OfAKilledRunEndsWithTheBitsOfOneThatWasNotKilled) {
  ASSERT_EQ(run_program(scratch, up("whole")).code, 0);
  kill_all("r");
  const Ended ended = run_program(scratch, {"up", "--resume", "runs/r"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("runs/r goes on from its checkpoint of round "));
  const std::string model = read_text(scratch.run_file("r", "model.safetensors"));
  EXPECT_FALSE(model.empty());
  EXPECT_TRUE(model == read_text(scratch.run_file("whole", "model.safetensors")));
  EXPECT_EQ(scratch.summary("r")["rounds"], 200);
  EXPECT_EQ(scratch.summary("r")["links"].size(), scratch.summary("whole")["links"].size());

  const Ended replayed =
      run_program(scratch, {"simulate", "--config", "config.yaml", "--topology", "mesh.yaml",
                            "--replay", "runs/r", "--run", "replayed"});
  ASSERT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_TRUE(model == read_text(scratch.run_file("replayed", "model.safetensors")));
}

TEST_F(Resume, IsRefusedWithOneSentenceWhereItCannotBe) {
  kill_all("r");
  const std::vector<std::string> resume{"up", "--resume", "runs/r"};
  expect_refused({"up"}, "--config and --topology are required, or --resume");
  expect_refused({"up", "--resume", "runs/r", "--run", "s"}, "write one of them");

  std::string other = kConfig;
  other.replace(other.find("0.02"), 4, "0.03");
  scratch.write("other.yaml", other);
  expect_refused({"up", "--resume", "runs/r", "--config", "other.yaml"}, "with another config");

  const std::string path = newest("r", "b");
  const std::string whole = read_text(path);
  std::string damaged = whole;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  std::ofstream(path, std::ios::binary) << damaged;
  expect_refused(resume, "is damaged");
  expect_refused({"node", "--name", "b", "--resume", "runs/r"}, "is damaged");
  EXPECT_TRUE(read_text(path) == damaged);
  std::ofstream(path, std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_refused(resume, "is damaged");

  std::filesystem::remove_all(scratch.run_file("r", "checkpoints/c"));
  std::ofstream(path, std::ios::binary) << whole;
  expect_refused(resume, "has no checkpoint of node c");
}

TEST_F(Resume, ASignalAsksForACheckpoint) {
  std::string seldom = kConfig;
  seldom.replace(seldom.find("every_rounds: 4"), 15, "every: 1h");
  seldom.replace(seldom.find("rounds: 200"), 11, "rounds: 1000000");
  scratch.write("config.yaml", seldom);
  Program program(scratch, up("r"));
  ASSERT_TRUE(program.says("\nround ")) << program.wait().err;
  EXPECT_EQ(newest("r", "a"), "");
  program.signal(SIGUSR1);
  while (newest("r", "a").empty()) std::this_thread::yield();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 0);
}

}  // namespace
}  // namespace kimesh::test
