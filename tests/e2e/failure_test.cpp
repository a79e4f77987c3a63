// When something goes wrong: one sentence that names it, the right exit code, nothing left running.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "tests/cannot_run.h"
#include "tests/e2e/model_file.h"
#include "tests/e2e/own_namespaces.h"
#include "tests/train/fixture.h"

namespace kimesh::test::failure_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string address(int port) {
  return "tcp://" + own_host() + ":" + std::to_string(port);
}

// A parameter server of a, b and c; `extra` are further lines of the file.
std::string mesh_text(const std::string& extra = "", int port_of_a = 7101) {
  return "kind: parameter_server\nnodes:\n  a: {address: \"" + address(port_of_a) +
         "\"}\n  b: {address: \"" + address(7102) + "\"}\n  c: {address: \"" + address(7103) +
         "\"}\nlinks: {default: {delay: 5ms}}\n" + extra;
}

class Failure : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml", kEndlessConfig);
    scratch.write("mesh.yaml", mesh_text());
  }
  void TearDown() override { EXPECT_TRUE(Program::all_gone()) << "something is left running"; }

  static std::vector<std::string> up(const std::string& topology = "mesh.yaml") {
    return {"up", "--config", "config.yaml", "--topology", topology, "--run", "r"};
  }
  static std::vector<std::string> node(const std::string& name,
                                       const std::string& topology = "mesh.yaml") {
    return {"node",       "--config",     "config.yaml",
            "--topology", topology,       "--name",
            name,         "--run-folder", "alone-" + name + "-" + topology};
  }
  // Starts `up` and waits until it trains.
  std::unique_ptr<Program> training(const std::string& topology = "mesh.yaml") {
    auto program = std::make_unique<Program>(scratch, up(topology));
    EXPECT_TRUE(program->says("\nround ")) << program->wait().err;
    return program;
  }
  // Model of the run, whole and finite.
  void expect_whole_model() {
    const RunConfig config = load_config(scratch.path() + "/config.yaml").value;
    const TrainingData data = make_data(config, 3);
    const auto model =
        read_saved_model(scratch.run_file("r", "model.safetensors"), model_layout(config, data));
    EXPECT_FALSE(model.empty()) << "the saved model is not whole";
    EXPECT_TRUE(std::ranges::all_of(model, [](float x) { return std::isfinite(x); }));
    EXPECT_FALSE(std::ranges::all_of(model, [](float x) { return x == 0; }));
  }

  Scratch scratch;
};

// Seen to fail: the error of bind dropped.
TEST_F(Failure, AUsedPortIsNamedWithItsNodeAndAddress) {
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(7102);
  ::inet_pton(AF_INET, own_host().c_str(), &there.sin_addr);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  const Ended ended = run_program(scratch, up());
  ::close(taken);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("node b cannot listen on " + address(7102) +
                                   ": the address is already in use; stop the other process or "
                                   "choose another port"));
}

// Seen to fail: dead_after asked for in place of start_timeout.
TEST_F(Failure, ANodeWhosePeersNeverComeSaysForWhomItWaited) {
  scratch.write("short.yaml", mesh_text("start_timeout: 2s\n"));
  const Ended ended = run_program(scratch, node("a", "short.yaml"));
  EXPECT_EQ(ended.code, 1);
  ASSERT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("node a failed: gave up waiting for b (" + address(7102) +
                                   "), c (" + address(7103) +
                                   ") after 2 s: start it, or check "
                                   "its address"));
}

// Seen to fail: the error of bind dropped.
TEST_F(Failure, ASecondNodeOnTheSameAddressIsToldSo) {
  Program first(scratch, node("a"));
  ASSERT_TRUE(first.says("waiting for b"));
  auto again = node("a");
  again.back() = "second-a";
  const Ended second = run_program(scratch, again);
  EXPECT_EQ(second.code, 1);
  ASSERT_EQ(lines_of(second.err).size(), 1u) << second.err;
  EXPECT_THAT(second.err, HasSubstr("node a cannot listen on " + address(7101) +
                                    ": the address is already in use"));
  first.signal(SIGINT);
  EXPECT_EQ(first.wait().code, 0);
}

// Its twin at another address dials the same peers. Seen to fail: every hello taken for one of the
// same process.
TEST_F(Failure, ASecondNodeOfOneNameIsRefusedAndTheRunGoesOn) {
  const auto run = training();
  scratch.write("elsewhere.yaml", mesh_text("", 7109));
  const Ended second = run_program(scratch, node("a", "elsewhere.yaml"));
  EXPECT_EQ(second.code, 1);
  ASSERT_EQ(lines_of(second.err).size(), 1u) << second.err;
  EXPECT_THAT(second.err,
              ContainsRegex("node [bc] refuses a second node named a while the first one lives: "
                            "stop one of them, or start it under its own name"));
  run->signal(SIGINT);
  const Ended first = run->wait();
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_EQ(scratch.summary("r")["outcome"], "stopped");
}

// Seen to fail: the run's end left with the sentence of a node that missed the killed one.
TEST_F(Failure, AKilledNodeEndsTheRunByItsName) {
  const auto run = training();
  const pid_t victim = find_node_process(run->process(), "b");
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGKILL);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("kimesh: node b was killed by signal 9 (Killed)."));
  EXPECT_THAT(ended.out, HasSubstr("failed: node b was killed by signal 9 (Killed)"));
  EXPECT_EQ(scratch.summary("r")["outcome"], "failed");
}

// Seen to fail: survivors that save their own shards only.
TEST_F(Failure, AKilledNodeTakesNoPartOfTheModelWithIt) {
  const auto run = training();
  ::kill(find_node_process(run->process(), "b"), SIGKILL);
  EXPECT_EQ(run->wait().code, 1);
  expect_whole_model();
  EXPECT_EQ(scratch.summary("r")["complete"], false);
  const Ended joined = run_program(scratch, {"join", "runs/r", "--output", "joined.safetensors"});
  EXPECT_EQ(joined.code, 0) << joined.err;
  EXPECT_THAT(joined.out, ContainsRegex("of +a .round [0-9]+., c .round [0-9]+."));
  EXPECT_EQ(read_text(scratch.path() + "/joined.safetensors"),
            read_text(scratch.run_file("r", "model.safetensors")));
  const Ended again = run_program(scratch, {"join", "runs/r", "--output", "joined.safetensors"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("joined.safetensors exists"));
  EXPECT_EQ(run_program(scratch, {"join", "runs"}).code, 2) << "no folder of a run";
}

// Seen to fail: the name of the node that noticed in the sentence.
TEST_F(Failure, AFrozenNodeEndsTheRunByItsName) {
  scratch.write("nervous.yaml", mesh_text("dead_after: 2s\n"));
  const auto run = training("nervous.yaml");
  const pid_t victim = find_node_process(run->process(), "c");
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGSTOP);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err,
              ContainsRegex("node c has been silent for [0-9.]+ s .dead_after is 2.0 s"));
  EXPECT_THAT(ended.out, ContainsRegex("failed: node c has been silent"));
}

bool move_to_a_tiny_disk() {
  return leave_namespaces(CLONE_NEWNS) && ::mount("tmpfs", "runs", "tmpfs", 0, "size=96k") == 0;
}

// Seen to fail: what the files say about their disk ignored by the engine.
TEST_F(Failure, AFullDiskEndsTheRunWithItsReason) {
  std::filesystem::create_directory(scratch.path() + "/runs");
  Program run(scratch, up(), move_to_a_tiny_disk);
  const Ended ended = run.wait();
  if (ended.code == 77) return cannot_run("this system lets nobody mount a tiny disk for a test");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, ContainsRegex("node [abc].*No space left on device"));
}

// Seen to fail: nodes started all the same.
TEST_F(Failure, BadFilesAreRefusedBeforeAnythingStarts) {
  scratch.write("bad.yaml", mesh_text("sevrers: all\n"));
  scratch.write("config.yaml", std::string(kEndlessConfig) + "sede: 1\n");
  const Ended ended = run_program(scratch, up("bad.yaml"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, ContainsRegex("config.yaml:7: .*sede"));
  EXPECT_THAT(ended.err, ContainsRegex("bad.yaml:7: .*sevrers"));
  EXPECT_EQ(lines_of(ended.err).size(), 2u) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

// Seen to fail: nodes that each say so.
TEST_F(Failure, ADeviceThatIsNotThereIsNamedOnceBeforeAnythingStarts) {
  scratch.write("config.yaml", std::string(kEndlessConfig) + "device: cuda\n");
  const Ended ended = run_program(scratch, up());
  if (ended.code != 2 && ended.err.find("GPU") == std::string::npos)
    GTEST_SKIP() << "this machine has a GPU, and kimesh is built for it";
  EXPECT_EQ(ended.code, 2);
  ASSERT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("config.yaml:[0-9]+: device: cuda asks for a GPU, but there "
                                       "is no CUDA device: .*"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

// That it takes under two seconds is held in virtual time (Run.StopsEverywhereAfterCtrlCAtOneNode);
// here only hangs count. Seen to fail: shards of node b not written.
TEST_F(Failure, CtrlCEndsAllAndLeavesAWholeModel) {
  const auto run = training();
  run->signal(SIGINT);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("stopped"));
  EXPECT_THAT(ended.err, Not(HasSubstr("failed")));
  EXPECT_EQ(scratch.summary("r")["outcome"], "stopped");
  EXPECT_TRUE(scratch.summary("r")["digests"].is_object());
  expect_whole_model();
}

// A folder stands where node b's model would be written. Before: 0, since nobody looked at how
// nodes ended that were asked to.
TEST_F(Failure, CtrlCWhoseSaveFailsSaysSoAndIsNoSuccess) {
  const auto run = training();
  std::filesystem::create_directories(scratch.path() + "/runs/r/nodes/b.safetensors/in-the-way");
  run->signal(SIGINT);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("b.safetensors"));
}

// A folder stands where the joined model would be written. Seen to fail with code 0 and a
// complaint.
TEST_F(Failure, CtrlCWhoseModelCannotBeJoinedIsNoSuccess) {
  const auto run = training();
  std::filesystem::create_directories(scratch.run_file("r", "model.safetensors/in-the-way"));
  run->signal(SIGINT);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("there is no model of this run: "));
  EXPECT_EQ(scratch.summary("r")["outcome"], "stopped");
}

// Seen to fail: without a handler.
TEST_F(Failure, ATerminalThatGoesAwayEndsARunLikeCtrlC) {
  const auto run = training();
  ::kill(find_node_process(run->process(), "b"), SIGHUP);
  const Ended ended = run->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(scratch.summary("r")["outcome"], "stopped");
  EXPECT_EQ(scratch.summary("r")["complete"], true);
  expect_whole_model();
}

// As in `kimesh up | head`.
bool write_to_a_pipe_that_nobody_reads() {
  int ends[2] = {-1, -1};
  const bool made = ::pipe2(ends, O_CLOEXEC) == 0 && ::dup2(ends[1], STDOUT_FILENO) >= 0;
  ::close(ends[0]);
  ::close(ends[1]);
  return made;
}

// Seen to fail without a look at what became of the output: killed by SIGPIPE, or by an exception.
TEST_F(Failure, OutputThatNobodyReadsEndsARunLikeCtrlC) {
  Program run(scratch, up(), write_to_a_pipe_that_nobody_reads);
  const Ended ended = run.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(scratch.summary("r")["outcome"], "stopped");
}

// Seen to fail: taken for a failure.
TEST_F(Failure, CtrlCBeforeTheMeshIsCompleteEndsANodeInPeace) {
  Program alone(scratch, node("a"));
  ASSERT_TRUE(alone.says("waiting for b"));
  alone.signal(SIGINT);
  const Ended ended = alone.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

// Seen to fail: no PR_SET_PDEATHSIG.
TEST_F(Failure, NodesDoNotOutliveTheirUp) {
  const auto run = training();
  run->signal(SIGKILL);
  EXPECT_EQ(run->wait().code, -1);
  EXPECT_TRUE(Program::all_gone());
}

}  // namespace
}  // namespace kimesh::test::failure_test
