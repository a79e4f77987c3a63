// Real processes on real sockets end with the bits of the simulator.
#include <csignal>
#include <thread>

#include "tests/e2e/program.h"
#include "tests/shipped.h"

namespace kimesh::test::live_test {
namespace {

struct Case {
  std::string topology, model;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.topology << " " << c.model; }
};

constexpr const char* kMlp = "{kind: mlp, hidden: [32]}";
constexpr const char* kCnn = "{kind: cnn, channels: [4, 8], dense: 16}";

std::string config_text(const std::string& model, const std::string& rest) {
  return "model: " + model +
         "\ndata: {kind: digits, batch: 16, split: {dirichlet: 0.5}}\n"
         "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9}\n"
         "threads: 1\nseed: 5\nevaluate_every: 10\n" +
         rest;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return shipped_test_name(info.param.topology) + (info.param.model == kMlp ? "Mlp" : "Cnn");
}

// Every shipped topology with the small model, and some with a larger one.
std::vector<Case> cases(const std::vector<std::string>& with_cnn) {
  std::vector<Case> result;
  for (const std::string& topology : shipped_topologies()) result.push_back({topology, kMlp});
  for (const std::string& topology : with_cnn) result.push_back({topology, kCnn});
  return result;
}

// Runs `command` on the two files; the digests of the model that it leaves.
nlohmann::json digests_of(const Scratch& scratch, const std::string& command,
                          const std::string& topology, const std::vector<std::string>& extra = {}) {
  const std::string run = command + std::to_string(extra.size());
  std::vector<std::string> words{command, "--config", "config.yaml", "--topology", topology,
                                 "--run", run};
  words.insert(words.end(), extra.begin(), extra.end());
  const Ended ended = run_program(scratch, words);
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_TRUE(Program::all_gone());
  const nlohmann::json summary = scratch.summary(run);
  if (!summary.is_object()) return nullptr;
  EXPECT_EQ(summary["outcome"], "done") << summary["text"];
  return summary["digests"];
}

class FixedLive : public testing::TestWithParam<Case> {};

// Seen to fail: a live node's weight off by a millionth.
TEST_P(FixedLive, EndsWithTheBitsOfTheSimulatorAfterFiftyRounds) {
  const Scratch scratch;
  scratch.write("config.yaml",
                config_text(GetParam().model,
                            "compression: {policy: fixed, compressor: topk, ratio: 0.05}\n"
                            "stop: {rounds: 50}\n"));
  const std::string topology = scratch.topology(GetParam().topology);
  const auto live = digests_of(scratch, "up", topology);
  ASSERT_TRUE(live.is_object());
  EXPECT_EQ(live, digests_of(scratch, "simulate", topology));
}

INSTANTIATE_TEST_SUITE_P(Shipped, FixedLive,
                         testing::ValuesIn(cases({"ring4", "ring8", "ps4", "ps4-single"})),
                         case_name);

class KimadLive : public testing::TestWithParam<Case> {};

// Rates that change in steps, budgets that follow them, and a log that tells what was decided.
// Seen to fail: without --replay, which the last line keeps in sight.
TEST_P(KimadLive, IsRepeatedBitForBitByItsDecisionLog) {
  const Scratch scratch;
  const std::string compressor = GetParam().model == kMlp ? "dzq" : "topk";
  scratch.write(
      "config.yaml",
      config_text(GetParam().model, "compression: {policy: kimad, compressor: " + compressor +
                                        "}\nround_time: 15ms\nstop: {rounds: 100}\n"));
  scratch.write("steps.csv", "0,4Mbit\n0.4,1Mbit\n0.8,6Mbit\n1.1,2Mbit\n2,2Mbit\n");
  std::string text = read_text(scratch.path() + "/" + scratch.topology(GetParam().topology));
  text = text.substr(0, text.find("\nlinks:")) + "\nlinks:\n  default: {trace: steps.csv}\n";
  const std::string topology = scratch.write("stepped.yaml", text);
  const auto live = digests_of(scratch, "up", topology);
  ASSERT_TRUE(live.is_object());
  EXPECT_EQ(live, digests_of(scratch, "simulate", topology, {"--replay", "runs/up0"}));
  EXPECT_NE(live, digests_of(scratch, "simulate", topology)) << "the log decided nothing";
}

INSTANTIATE_TEST_SUITE_P(Shipped, KimadLive, testing::ValuesIn(cases({"ring8", "ps4"})), case_name);

// Seen to fail: SIGHUP stopped a run that nohup had started.
TEST(Up, GoesOnWithoutItsTerminalWhereWhoStartedItWantsThat) {
  constexpr std::size_t kMore = 200;  // many times the rounds in which a mesh agrees on a stop
  const Scratch scratch;
  scratch.write("config.yaml", kEndlessConfig);
  const std::string topology = scratch.topology("ring4");
  Program program(scratch,
                  {"up", "--config", "config.yaml", "--topology", topology, "--run", "run"},
                  [] { return ::signal(SIGHUP, SIG_IGN) != SIG_ERR; });
  ASSERT_TRUE(program.says("round ")) << program.wait().err;
  const auto records = [&] {
    return lines_of(read_text(scratch.run_file("run", "nodes/a.jsonl"))).size();
  };
  const std::size_t before = records();
  const pid_t node = find_node_process(program.process(), "a");
  ASSERT_GT(node, 0);
  program.signal(SIGHUP);
  ::kill(node, SIGHUP);
  while (program.running() && records() < before + kMore) std::this_thread::yield();
  EXPECT_GE(records(), before + kMore);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_TRUE(Program::all_gone());
}

// Seen to fail: the ends of the nodes were never told, and the run never ended.
TEST(Up, EndsWhereWhoStartedItTakesNoNoticeOfChildren) {
  const Scratch scratch;
  scratch.write("config.yaml", config_text(kMlp, "stop: {rounds: 5}\n"));
  Program program(scratch,
                  {"up", "--config", "config.yaml", "--topology", scratch.topology("ring4")},
                  [] { return ::signal(SIGCHLD, SIG_IGN) != SIG_ERR; });
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_TRUE(Program::all_gone());
}

}  // namespace
}  // namespace kimesh::test::live_test
