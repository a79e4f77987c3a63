// Machines of one mesh have different instruction sets: their nodes end with the same bits.
#include "kimesh/kernels/simd.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/e2e/program.h"

namespace kimesh::test::simd_test {
namespace {

constexpr const char* kTopology = R"(kind: parameter_server
nodes:
  a: {address: "tcp://127.0.0.1:7101"}
  b: {address: "tcp://127.0.0.1:7102"}
)";
constexpr const char* kConfig = R"(model: {kind: mlp, hidden: [32]}
data: {kind: digits, batch: 16}
optimizer: {kind: adamw, lr: 0.002}
threads: 1
seed: 5
stop: {rounds: 30}
)";

// The digests of the node's own shards, round by round, from its record.
std::vector<std::string> digests_in(const std::string& record) {
  std::vector<std::string> all;
  std::istringstream lines(read_text(record));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    for (const auto& shard : json.value("digests", nlohmann::json::array()))
      all.push_back(shard["digest"].get<std::string>());
  }
  return all;
}

class MixedInstructionSets : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::string> node(const std::string& name, std::string_view simd) const {
    return {"node", "--config",     "config.yaml", "--topology", "mesh.yaml", "--name",
            name,   "--run-folder", "runs/mixed",  "--digests",  "--simd",    std::string(simd)};
  }
  std::vector<std::string> record(const Scratch& scratch, const std::string& run,
                                  const std::string& name) const {
    return digests_in(scratch.run_file(run, "nodes/" + name + ".jsonl"));
  }
};

// Seen to fail with a scalar kernel that added its lanes in another order.
TEST_P(MixedInstructionSets, KeepBothEndsOfEveryChannelEqual) {
  const Scratch scratch;
  scratch.write("mesh.yaml",
                std::regex_replace(kTopology, std::regex("127\\.0\\.0\\.1"), own_host()));
  scratch.write("config.yaml",
                kConfig + ("compression: {policy: fixed, digest_every: 1, " + GetParam() + "}\n"));
  std::filesystem::create_directories(scratch.path() + "/runs/mixed");
  Program best(scratch, node("a", kernels::simd_targets().front()));
  Program plain(scratch, node("b", "scalar"));
  for (Program* program : {&best, &plain}) {
    const Ended ended = program->wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  }
  EXPECT_TRUE(Program::all_gone());
  // A digest that differs resets its channel.
  for (const char* name : {"a", "b"}) {
    const std::string decisions =
        read_text(scratch.run_file("mixed", std::string("nodes/") + name + ".decisions.jsonl"));
    EXPECT_THAT(decisions, testing::HasSubstr("\"setting\""));
    EXPECT_THAT(decisions, testing::Not(testing::HasSubstr("\"reset\"")));
  }
  const Ended simulated = run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                                "mesh.yaml", "--run", "alone", "--digests"});
  EXPECT_EQ(simulated.code, 0) << simulated.err;
  for (const char* name : {"a", "b"}) {
    EXPECT_GE(record(scratch, "mixed", name).size(), 30u);
    EXPECT_EQ(record(scratch, "mixed", name), record(scratch, "alone", name));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MixedInstructionSets,
                         testing::Values("compressor: topk, ratio: 0.05", "compressor: int8",
                                         "compressor: int4", "compressor: sign",
                                         "compressor: sign2",
                                         "compressor: redsync, ratio: 0.05, values: float16",
                                         "compressor: dzq, bits: 0.5"),
                         [](const auto& a) {
                           const std::string name =
                               a.param.substr(std::string("compressor: ").size());
                           return name.substr(0, name.find(','));
                         });

TEST(Simd, ATargetThatThisMachineLacksIsRefused) {
  const Scratch scratch;
  const Ended ended =
      run_program(scratch, {"simulate", "--config", "configs/digits.yaml", "--topology",
                            "topologies/ring4.yaml", "--simd", "mmx"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, testing::HasSubstr("--simd: this machine has no instruction set 'mmx'"));
  EXPECT_THAT(ended.err, testing::HasSubstr("scalar"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

}  // namespace
}  // namespace kimesh::test::simd_test
