// The bar below the live view, on a terminal.
#include "tests/e2e/terminal.h"

namespace kimesh::test::progress_test {
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
  // Why rounds take as long as they do, while the run goes on and at its end.
  EXPECT_NE(shown.find("\r\nverdict: "), std::string::npos) << shown;
  EXPECT_EQ(end.find("verdict: "), std::string::npos);
  EXPECT_NE(shown.find("\r\n  verdict       "), std::string::npos);
  EXPECT_NE(simulated("stop: {rounds: 600, accuracy: 0.999}\n").shown.find(" s left at most"),
            std::string::npos);
}

// Seen to fail with a bar that stays behind what is said below it.
TEST(Progress, OfAnEvaluationAndOfATextIsToldAndGoesAway) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "the quick brown fox jumps over a lazy dog\n";
  scratch.write("text.txt", text);
  scratch.write("config.yaml",
                "model: {kind: transformer, layers: 2, heads: 2, embedding: 64}\n"
                "data: {kind: text, path: text.txt, tokens: character, length: 64, batch: 8}\n"
                "optimizer: {kind: adamw, lr: 0.01}\ncompression: {policy: none}\n"
                "stop: {rounds: 1}\nthreads: 1\n");
  ASSERT_EQ(run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                  "topologies/ps4.yaml", "--run", "r"})
                .code,
            0);
  const std::vector<std::string> words{
      "eval", "runs/r/model.safetensors", "--config", "config.yaml", "--sample", "1500"};
  const OnTerminal ended = on_terminal(scratch, words);
  ASSERT_EQ(ended.code, 0) << ended.shown;
  const std::size_t figures = ended.shown.find("  accuracy ");
  ASSERT_NE(figures, std::string::npos) << ended.shown;
  // One bar until the figures are there, another one until the text is.
  const std::regex bar(R"(\r\x1b\[K\[(#*)(-*)\] +(\d+) %(, \d+ s left)?)");
  unsigned with_time = 0;
  for (const bool of_text : {false, true}) {
    const std::string shown =
        of_text ? ended.shown.substr(figures) : ended.shown.substr(0, figures);
    int last = 0;
    unsigned bars = 0;
    for (std::sregex_iterator found(shown.begin(), shown.end(), bar), end; found != end; ++found) {
      const int share = std::stoi((*found)[3]);
      EXPECT_GE(share, last);
      last = share;
      ++bars;
      with_time += (*found)[4].matched ? 1 : 0;
    }
    EXPECT_GE(bars, 1u) << shown;
    const std::size_t erased = shown.rfind("\r\x1b[K");
    ASSERT_NE(erased, std::string::npos);
    EXPECT_EQ(shown.find(" %", erased), std::string::npos) << "the last bar goes";
  }
  EXPECT_GE(with_time, 1u) << ended.shown;
  EXPECT_EQ(run_program(scratch, words).out.find("%"), std::string::npos);
}

// Seen to fail with a bar that stays at 0.
TEST(Progress, IsNotToldWhereNobodyKnowsIt) {
  const std::string shown = simulated("stop: {accuracy: 0.5}\n").shown;
  EXPECT_EQ(shown.find("--]"), std::string::npos) << shown;
  EXPECT_EQ(shown.find(" left"), std::string::npos);
}

}  // namespace
}  // namespace kimesh::test::progress_test
