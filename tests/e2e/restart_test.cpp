// `kimesh node --resume-if-any`, started again where it fails as containers are: what a death ends
// goes on from the newest checkpoint, and what would fail again does not begin again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"

namespace kimesh::test::restart_test {
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
const std::vector<std::string> kNames{"a", "b", "c"};

std::vector<std::string> words_of(const std::string& name) {
  return {"node",       "--name",    name,       "--config",       "config.yaml",
          "--topology", "mesh.yaml", "--health", name + ".health", "--resume-if-any"};
}

// A node and what starts it again.
class RestartedNode {
 public:
  RestartedNode(const Scratch& scratch, const std::string& name)
      : thread_([&scratch, name, this] { run(scratch, words_of(name)); }) {}
  ~RestartedNode() { wait(); }
  RestartedNode(const RestartedNode&) = delete;
  RestartedNode& operator=(const RestartedNode&) = delete;

  void kill(int signal = SIGKILL) const {
    if (const pid_t process = process_; process > 0) ::kill(process, signal);
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  // After wait():
  [[nodiscard]] int code() const { return ended_.code; }
  [[nodiscard]] int starts() const { return starts_; }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  void run(const Scratch& scratch, const std::vector<std::string>& words) {
    constexpr int kStartsMax = 12;  // more than the deaths of a test can cause
    do {
      Program program(scratch, words);
      process_ = program.process();
      ended_ = program.wait();
      said_ += ended_.out + ended_.err;
    } while (ended_.code != 0 && ended_.code != 2 && ended_.code != 3 && ++starts_ < kStartsMax);
  }

  std::atomic<pid_t> process_{0};
  Ended ended_;
  std::string said_;
  int starts_ = 1;
  std::thread thread_;
};

class Restart : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml", kConfig);
    scratch.write("mesh.yaml", "kind: ring\ndead_after: 3s\nlinks: {default: {delay: 5ms}}\n" +
                                   nodes_at_own_host(kNames));
  }
  void TearDown() override { EXPECT_TRUE(Program::all_gone()) << "something is left running"; }

  void set_rounds(int rounds, int between_checkpoints = 4) const {
    std::string config = kConfig;
    config.replace(config.find("rounds: 4"), 9, "rounds: " + std::to_string(between_checkpoints));
    config.replace(config.find("rounds: 200"), 11, "rounds: " + std::to_string(rounds));
    scratch.write("config.yaml", config);
  }
  // The folder of the run that `name` was in, which makes one of its own; empty: none yet.
  [[nodiscard]] std::string folder_of(const std::string& name) const {
    std::error_code code;
    for (const auto& run : std::filesystem::directory_iterator(scratch.path() + "/runs", code))
      if (std::filesystem::exists(run.path() / "nodes" / (name + ".jsonl")))
        return run.path().string();
    return "";
  }
  // The round of its newest checkpoint; -1: none yet.
  [[nodiscard]] long newest_of(const std::string& name) const {
    long newest = -1;
    std::error_code code;
    const std::string folder = folder_of(name) + "/checkpoints/" + name;
    for (const auto& file : std::filesystem::directory_iterator(folder, code))
      if (file.path().extension() == ".checkpoint")
        newest = std::max(newest, std::stol(file.path().stem().string()));
    return newest;
  }
  // Waits until all nodes hold one of this round or a later one. False: they never do.
  [[nodiscard]] bool await_checkpoints(long round = 0) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const auto all_hold = [&] {
      return std::ranges::all_of(kNames,
                                 [&](const auto& name) { return newest_of(name) >= round; });
    };
    while (!all_hold()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // Waits until a node has written so many bytes more of records. False: the run has come far.
  [[nodiscard]] bool await_records(const std::string& name, std::uintmax_t bytes) const {
    const auto size = [&] {
      std::error_code code;
      const auto found =
          std::filesystem::file_size(folder_of(name) + "/nodes/" + name + ".jsonl", code);
      return code ? 0 : found;
    };
    constexpr long kFar = 50;
    const auto before = size();
    while (size() < before + bytes) {
      if (newest_of(name) > kFar) return false;
      std::this_thread::yield();
    }
    return true;
  }
  [[nodiscard]] std::string model_of_a_whole_run() const {
    const Ended whole = run_program(
        scratch, {"up", "--config", "config.yaml", "--topology", "mesh.yaml", "--run", "whole"});
    EXPECT_EQ(whole.code, 0) << whole.err;
    std::string model = read_text(scratch.run_file("whole", "model.safetensors"));
    std::filesystem::remove_all(scratch.run_file("whole", ""));
    return model;
  }
  [[nodiscard]] std::string model_at(const std::string& name) const {
    return folder_of(name) + "/nodes/" + name + ".safetensors";
  }
  // The node was killed before it could write that the run is over.
  void cut_off_the_end_of(const std::string& name) const {
    const std::string records = folder_of(name) + "/nodes/" + name + ".jsonl";
    const std::string text = read_text(records);
    const std::size_t end = text.rfind('\n', text.size() - 2) + 1;
    ASSERT_THAT(text.substr(end), HasSubstr("\"end\"")) << text;
    std::ofstream(records) << text.substr(0, end);
  }
  // All nodes run until there are checkpoints, and are killed.
  void train_and_kill() const {
    std::vector<std::unique_ptr<Program>> programs;
    for (const std::string& name : kNames)
      programs.push_back(std::make_unique<Program>(scratch, words_of(name)));
    EXPECT_TRUE(await_checkpoints());
    for (const auto& program : programs) program->signal(SIGKILL);
  }
  [[nodiscard]] std::vector<Ended> run_all() const {
    std::vector<std::unique_ptr<Program>> programs;
    for (const std::string& name : kNames)
      programs.push_back(std::make_unique<Program>(scratch, words_of(name)));
    std::vector<Ended> ends;
    for (const auto& program : programs) ends.push_back(program->wait());
    return ends;
  }
  const Scratch scratch;
};

// One node is killed, and later all are: the run ends with the bits of one in which nobody was.
// Seen to fail: a halt or a refusal of a node that ends the run of before taken for the end of the
// next one.
TEST_F(Restart, OutlivesTheDeathOfOneNodeAndThenOfAll) {
  set_rounds(120);
  const std::string model = model_of_a_whole_run();
  std::vector<std::unique_ptr<RestartedNode>> nodes;
  for (const std::string& name : kNames)
    nodes.push_back(std::make_unique<RestartedNode>(scratch, name));
  EXPECT_TRUE(await_checkpoints());
  nodes[2]->kill();
  EXPECT_TRUE(await_checkpoints(50));
  for (const auto& node : nodes) node->kill();
  for (const auto& node : nodes) node->wait();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_EQ(nodes[i]->code(), 0) << nodes[i]->said();
    EXPECT_EQ(nodes[i]->starts(), 3) << nodes[i]->said();
    EXPECT_THAT(nodes[i]->said(), HasSubstr("node " + kNames[i] + " goes on with it"));
    EXPECT_TRUE(read_text(model_at(kNames[i])) == model) << kNames[i];
  }
}

// A seed draws who dies and when: a death may come while nodes begin again. KIMESH_SEEDS=50 is the
// long form.
TEST_F(Restart, AfterDeathsAtAnyMomentEndsWithTheBitsOfAWholeRun) {
  set_rounds(80);
  const std::string model = model_of_a_whole_run();
  const char* const wanted = std::getenv("KIMESH_SEEDS");
  const unsigned seeds = wanted == nullptr ? 1 : static_cast<unsigned>(std::stoul(wanted));
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::filesystem::remove_all(scratch.path() + "/runs");
    std::vector<std::unique_ptr<RestartedNode>> nodes;
    for (const std::string& name : kNames)
      nodes.push_back(std::make_unique<RestartedNode>(scratch, name));
    for (int death = 0; death < 3; ++death) {
      if (!await_records(kNames[random() % 3], random() % 6000)) break;
      const unsigned killed = 1 + random() % 7;
      for (std::size_t i = 0; i < kNames.size(); ++i)
        if ((killed >> i & 1) != 0) nodes[i]->kill();
    }
    for (const auto& node : nodes) node->wait();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      EXPECT_EQ(nodes[i]->code(), 0) << nodes[i]->said();
      EXPECT_TRUE(read_text(model_at(kNames[i])) == model) << nodes[i]->said();
    }
  }
}

// Seen to fail: a halt taken for the end of the run that is to begin.
TEST_F(Restart, WhileOthersWaitDoesNotEndThem) {
  set_rounds(20);
  Program a(scratch, words_of("a"));
  {
    Program b(scratch, words_of("b"));
    ASSERT_TRUE(a.says("waiting for c (")) << a.wait().err;  // and not for b
    b.signal(SIGTERM);
    EXPECT_EQ(b.wait().code, 0);
  }
  ASSERT_TRUE(a.says("node b is ending a run")) << a.wait().err;
  Program b(scratch, words_of("b")), c(scratch, words_of("c"));
  for (Program* node : {&a, &b, &c}) EXPECT_EQ(node->wait().code, 0);
}

// A run that has come to its end is not gone on with: the next one is a new one.
TEST_F(Restart, AfterTheEndBeginsANewRun) {
  set_rounds(20);
  for (int run = 0; run < 2; ++run)
    for (const Ended& ended : run_all()) EXPECT_EQ(ended.code, 0) << ended.err;
  const auto runs = std::filesystem::directory_iterator(scratch.path() + "/runs");
  EXPECT_EQ(std::distance(begin(runs), end(runs)), 6);
}

TEST_F(Restart, OfBadInputEndsWithCodeTwoBeforeAnythingIsWritten) {
  scratch.write("config.yaml", "model: {kind: mpl}\n");
  const Ended ended = run_program(scratch, words_of("a"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(folder_of("a"), "");
  auto words = words_of("a");
  words.insert(words.end(), {"--resume", "runs/r"});
  EXPECT_EQ(run_program(scratch, words).code, 2);
}

// Seen to fail: HaltKind::kPermanent told to the peers as kFailure.
TEST_F(Restart, WhereAGradientIsNotFiniteAllNodesEndWithCodeThree) {
  std::string steep = kConfig;
  steep.replace(steep.find("lr: 0.02"), 8, "lr: 10000, weight_decay: 1");
  scratch.write("config.yaml", steep);
  for (const Ended& ended : run_all()) {
    EXPECT_EQ(ended.code, 3) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("NaN or inf"));
  }
}

// The first checkpoint was not written everywhere, and the second one was far off: nothing is lost.
TEST_F(Restart, BeforeTheFirstCheckpointOfAllBeginsAnew) {
  set_rounds(80, 40);
  train_and_kill();
  const std::string folder = folder_of("a") + "/checkpoints/a";
  std::filesystem::remove_all(folder_of("c") + "/checkpoints/c");
  for (const Ended& ended : run_all()) {
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("run begins with round 0"));
  }
  const auto is_aside = [](const auto& file) { return file.path().extension() == ".alone"; };
  EXPECT_GE(std::ranges::count_if(std::filesystem::directory_iterator(folder), is_aside), 1);
}

// A volume was lost: to begin anew would give up what the others hold.
TEST_F(Restart, OfANodeThatHasLostItsFolderEndsAllWithCodeThree) {
  train_and_kill();
  std::filesystem::remove_all(folder_of("c"));
  std::string said;
  for (const Ended& ended : run_all()) {
    EXPECT_EQ(ended.code, 3) << ended.err;
    said += ended.err;
  }
  EXPECT_THAT(said, HasSubstr("holds none and has no records of the run"));
  EXPECT_GE(newest_of("a"), 0);
}

// Seen to fail: its checkpoint taken for one that the others have lost.
TEST_F(Restart, OfANodeThatDiedAfterTheEndBeginsTheNextRunWithAll) {
  set_rounds(60);
  for (const Ended& ended : run_all()) EXPECT_EQ(ended.code, 0) << ended.err;
  cut_off_the_end_of("c");
  std::filesystem::remove(model_at("c"));  // it was killed before it left one
  for (const Ended& ended : run_all()) {
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("run begins with round 0"));
  }
  EXPECT_GE(newest_of("c"), 0);
}

// It has left its model, so that nobody has to come back for it. Seen to fail: code 1, after which
// it would be started again, and wait again.
TEST_F(Restart, OfANodeThatDiedAfterTheEndIsNothingWhereNobodyBeginsAnotherRun) {
  set_rounds(20);
  scratch.write("mesh.yaml", read_text(scratch.path() + "/mesh.yaml") + "start_timeout: 15s\n");
  for (const Ended& ended : run_all()) EXPECT_EQ(ended.code, 0) << ended.err;
  cut_off_the_end_of("c");
  const Ended ended = run_program(scratch, words_of("c"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(" has come to its end: nothing is left to do"));
}

// What a run is told by: what its files say, with the paths that they name. A trace may lie where
// the copies in the run's folder do not find it. Seen to fail: paths left out.
TEST_F(Restart, GoesOnOnlyWithARunOfTheSameFiles) {
  std::string table = "class,x,y\n";
  for (int i = 0; i < 90; ++i)
    table += fmt::format("{},{},{}\n", i % 2, i % 2 + i * 1e-3, i * 2e-3);
  for (const char* name : {"a.csv", "b.csv"}) scratch.write(name, table);
  scratch.write("rates.csv", "0,100Mbit\n");
  std::filesystem::create_directory(scratch.path() + "/meshes");
  std::string mesh = read_text(scratch.path() + "/mesh.yaml");
  mesh.replace(mesh.find("{delay: 5ms}"), 12, "{delay: 5ms, trace: ../rates.csv}");
  scratch.write("meshes/mesh.yaml", mesh);
  // Node a says `words` once all are started with this table, or, where there are none, has written
  // a checkpoint; then all are killed.
  const auto start = [&](const std::string& name, const std::string& words) {
    std::string config = kConfig;
    config.replace(config.find("kind: digits"), 12, "kind: csv, path: " + name + ", label: class");
    scratch.write("config.yaml", config);
    std::vector<std::unique_ptr<Program>> programs;
    for (const std::string& node : kNames) {
      auto command = words_of(node);
      *std::ranges::find(command, "mesh.yaml") = "meshes/mesh.yaml";
      programs.push_back(std::make_unique<Program>(scratch, command));
    }
    const bool came = words.empty() ? await_checkpoints() : programs.front()->says(words);
    for (const auto& program : programs) program->signal(SIGKILL);
    EXPECT_TRUE(came) << programs.front()->wait().err;
  };
  start("a.csv", "");
  start("a.csv", "node a goes on with it");
  start("b.csv", "node a does not go on with it");
}

TEST_F(Restart, AHealthFileSaysByWhenTheNodeHasGoneOn) {
  const auto healthy = [&](const std::string& name) {
    return run_command({"env", "KIMESH_HEALTH=" + scratch.path() + "/" + name,
                        KIMESH_SOURCE_DIR "/docker/healthy.sh"});
  };
  EXPECT_EQ(healthy("a.health").code, 1);
  {
    std::vector<std::unique_ptr<Program>> programs;
    for (const std::string& name : kNames)
      programs.push_back(std::make_unique<Program>(scratch, words_of(name)));
    ASSERT_TRUE(await_checkpoints());
    EXPECT_EQ(healthy("a.health").code, 0) << healthy("a.health").said;
    EXPECT_THAT(healthy("a.health").said, HasSubstr("waiting for "));
    // By then a gradient of this small model, of which some were made, has long been there.
    constexpr long kFarTooLate = 600;
    EXPECT_LT(std::stol(read_text(scratch.path() + "/a.health")), std::time(nullptr) + kFarTooLate);
  }
  scratch.write("late.health", std::to_string(std::time(nullptr) - 1) + " waiting for a disk\n");
  EXPECT_EQ(healthy("late.health").code, 1);
  EXPECT_EQ(healthy("late.health").said, "waiting for a disk\n");
}

// A pod that is moved is stopped, and the mesh with it. Seen to fail where the others took that for
// the end of the run.
TEST_F(Restart, OfOneThatWasStoppedTakesTheOthersAlong) {
  RestartedNode a(scratch, "a"), b(scratch, "b"), c(scratch, "c");
  ASSERT_TRUE(await_checkpoints());
  b.kill(SIGTERM);
  b.wait();
  EXPECT_EQ(b.code(), 0) << b.said();
  EXPECT_EQ(b.starts(), 1);
  RestartedNode again(scratch, "b");
  for (RestartedNode* node : {&a, &again, &c}) {
    node->wait();
    EXPECT_EQ(node->code(), 0) << node->said();
    EXPECT_THAT(node->said(), HasSubstr("is done"));
  }
  EXPECT_THAT(a.said(), HasSubstr("was stopped"));
  EXPECT_EQ(a.starts(), 2) << a.said();
}

}  // namespace
}  // namespace kimesh::test::restart_test
