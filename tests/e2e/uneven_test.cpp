// Meshes whose nodes compute at unlike speeds.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/e2e/program.h"

namespace kimesh::test::uneven_test {
namespace {

using testing::HasSubstr;

Ended simulate(const Scratch& scratch, const std::vector<std::string>& compute) {
  scratch.write("config.yaml",
                "model: {kind: mlp, hidden: [16]}\ndata: {kind: digits, batch: 8}\n"
                "optimizer: {kind: sgd, lr: 0.05}\ncompression: {policy: auto}\nthreads: 1\n"
                "stop: {rounds: 40}\n");
  std::vector<std::string> command{
      "simulate", "--config", "config.yaml", "--topology", "topologies/ps4.yaml", "--run", "r"};
  for (const std::string& time : compute) command.insert(command.end(), {"--compute", time});
  return run_program(scratch, command);
}

// The local steps of a node's rounds, as its record says.
std::vector<unsigned> steps_of(const Scratch& scratch, const std::string& node) {
  std::istringstream lines(read_text(scratch.path() + "/runs/r/nodes/" + node + ".jsonl"));
  std::vector<unsigned> steps;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["event"] == "round" && !json["poll"]) steps.push_back(json["policy"]["local_steps"]);
  }
  return steps;
}

TEST(Uneven, NodesThatComputeFasterTakeMoreLocalSteps) {
  const Scratch scratch;
  const Ended ended = simulate(scratch, {"20ms", "c=60ms"});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  const auto slow = steps_of(scratch, "c"), fast = steps_of(scratch, "a");
  ASSERT_EQ(slow.size(), 40u);
  ASSERT_EQ(fast.size(), 40u);
  EXPECT_EQ(fast.front(), slow.front());
  EXPECT_EQ(fast.back(), 3 * slow.back());
}

TEST(Uneven, ATimeOfNoNodeIsRefused) {
  const Scratch scratch;
  const Ended unknown = simulate(scratch, {"20ms", "e=60ms"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--compute: the topology has no node e; it has a, b, c, d"));
  const Ended wrong = simulate(scratch, {"c=soon"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--compute: "));
  const Ended twice = simulate(scratch, {"c=20ms", "c=30ms"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("--compute: two times for node c; give one"));
}

}  // namespace
}  // namespace kimesh::test::uneven_test
