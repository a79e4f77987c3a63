// The bar below the live view, on a terminal.
#include "tests/e2e/terminal.h"

namespace kimesh::test {
namespace {

const std::string kConfig =
    "model: {kind: mlp, hidden: [64]}\ndata: {kind: digits, batch: 32}\n"
    "optimizer: {kind: sgd, lr: 0.01}\ncompression: {policy: none}\nthreads: 1\n";

OnTerminal simulated(const std::string& stop) {
  const Scratch scratch;
  scratch.write("config.yaml", kConfig + stop);
  OnTerminal ended = on_terminal(
      scratch, {"simulate", "--config", "config.yaml", "--topology", "topologies/ps4.yaml"});
  EXPECT_EQ(ended.code, 0) << ended.shown;
  return ended;
}

// Seen to fail with a share of the rounds that nodes have ahead of them, and with bars of the
// finished run.
TEST(Progress, TellsTheShareAndTheTimeLeftUntilTheEnd) {
  const std::string shown = simulated("stop: {rounds: 600}\n").shown;
  const std::regex bar(R"(\[(#*)(-*)\] +(\d+) %(, \d+ (s|min \d+ s) left( at most)?)?\r\n)");
  int last = 0;
  unsigned bars = 0, with_time = 0;
  for (std::sregex_iterator found(shown.begin(), shown.end(), bar), end; found != end; ++found) {
    const int share = std::stoi((*found)[3]);
    EXPECT_GE(share, last);
    EXPECT_EQ((*found)[1].length() + (*found)[2].length(), 40);
    EXPECT_NEAR(static_cast<double>((*found)[1].length()), 0.4 * share, 1);
    last = share;
    ++bars;
    with_time += (*found)[4].matched ? 1 : 0;
  }
  EXPECT_GE(bars, 2u) << shown;
  EXPECT_GE(with_time + 1, bars);
  EXPECT_GT(last, 30);
  const std::size_t done = shown.find("done: all rounds were made");
  ASSERT_NE(done, std::string::npos);
  const std::string end = shown.substr(shown.rfind("\x1b[0J", done), done);
  EXPECT_EQ(end.find(" %, "), std::string::npos) << "the last table stays without a bar";
  EXPECT_EQ(shown.find("at most"), std::string::npos);
  EXPECT_NE(simulated("stop: {rounds: 600, accuracy: 0.999}\n").shown.find(" s left at most"),
            std::string::npos);
}

// Seen to fail with a bar that stays at 0.
TEST(Progress, IsNotToldWhereNobodyKnowsIt) {
  const std::string shown = simulated("stop: {accuracy: 0.5}\n").shown;
  EXPECT_EQ(shown.find("--]"), std::string::npos) << shown;
  EXPECT_EQ(shown.find(" left"), std::string::npos);
}

}  // namespace
}  // namespace kimesh::test
