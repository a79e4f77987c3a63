// `kimesh report` as a user calls it, and the verdict at the end of a run.
#include "tests/e2e/program.h"

namespace kimesh::test {
namespace {

class ReportCommand : public testing::Test {
 protected:
  void SetUp() override {
    scratch_.write("config.yaml",
                   "quadratic: {dimension: 400}\noptimizer: {kind: sgd, lr: 0.2}\n"
                   "compression: {policy: fixed, compressor: topk, ratio: 0.1}\n"
                   "stop: {rounds: 50}\n");
    const Ended run = run_program(scratch_, {"simulate", "--config", "config.yaml", "--topology",
                                             "topologies/ring4.yaml", "--run", "run"});
    ASSERT_EQ(run.code, 0) << run.err;
    said_ = run.out;
  }
  Scratch scratch_;
  std::string said_;
};

TEST_F(ReportCommand, LeavesAPageInTheRunsFolder) {
  const Ended ended = run_program(scratch_, {"report", "runs/run"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string page = read_text(scratch_.path() + "/runs/run/report.html");
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

TEST_F(ReportCommand, SaysWhatTheEndOfTheRunHasSaid) {
  const Ended ended = run_program(scratch_, {"report", "runs/run", "--format", "json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  const std::string verdict = json["runs"][0]["verdict"];
  EXPECT_FALSE(verdict.empty());
  EXPECT_NE(said_.find("verdict       " + verdict), std::string::npos) << said_;
}

TEST_F(ReportCommand, RefusesWhatIsNoRun) {
  const Ended ended = run_program(scratch_, {"report", "runs/run", "runs/nothing"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("runs/nothing is no folder of a run"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace kimesh::test
