// Words of command lines: which of them are options, commands and values, and what is said of
// others.
#include <gmock/gmock.h>

#include "tests/e2e/program.h"

namespace kimesh::test::words_test {
namespace {

using testing::HasSubstr;

using Words = std::vector<std::string>;

constexpr const char* kTopology = "topologies/ring4.yaml";

// Options that may be repeated take one word each. Seen to fail with "TOPOLOGY is required".
TEST(Words, AnOptionThatRepeatsLeavesTheNextWordAlone) {
  const Scratch scratch;
  for (const Words& words :
       {Words{"keygen", "--out", "k1", "--renew", "a", kTopology},
        {"keygen", kTopology, "--out", "k2", "--renew", "a"},
        {"keygen", "--renew", "a", "--renew", "b", kTopology, "--out", "k3"}}) {
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("new keys in k"));
  }
  for (const Words& words :
       {Words{"plan", "--config", "configs/digits.yaml", "--suggest", "n.yaml", "--measured",
              "runs/none", kTopology},
        {"plan", kTopology, "--measured", "runs/none", "--measured", "runs/none", "--suggest",
         "n.yaml", "--config", "configs/digits.yaml"}}) {
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("--measured: runs/none tells no rate of a link"));
  }
}

// Seen to fail with "Check pdf value in {html->0,json->2,md->1} OR {0,2,1} FAILED", and with
// `completion 1`, which was a script for fish.
TEST(Words, AChoiceThatThereIsNotIsAnsweredWithThoseThatThereAre) {
  const Scratch scratch;
  struct Refused {
    Words words;
    const char* sentence;
  };
  for (const Refused& refused : std::vector<Refused>{
           {{"report", "runs/r", "--format", "pdf"},
            "kimesh: --format is 'pdf'. Write one of: html, json, md.\n"},
           {{"completion", "1"}, "kimesh: SHELL is '1'. Write one of: bash, fish, zsh.\n"},
           {{"export", "swarm", kTopology, "--config", "configs/digits.yaml"},
            "kimesh: TARGET is 'swarm'. Write one of: compose, kubernetes.\n"}}) {
    const Ended ended = run_program(scratch, refused.words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, refused.sentence);
  }
}

// Seen to fail with "A subcommand is required".
TEST(Words, ACommandThatThereIsNotIsNamed) {
  const Scratch scratch;
  const Ended wrong = run_program(scratch, {"foo", "--bar"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("kimesh: there is no command 'foo'. Write one of: init, check, "));
  const Ended none = run_program(scratch, {});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("kimesh: a command is missing. Write one of: init, "));
  const Ended option = run_program(scratch, {"--bar"});
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.err, HasSubstr("kimesh: there is no option '--bar'. "));
}

// Seen to fail with code 0 and a plan that took no notice of them.
TEST(Words, WhatAPlanWouldNotUseIsRefused) {
  const Scratch scratch;
  const Ended rates = run_program(scratch, {"plan", kTopology, "--measured", "nowhere"});
  EXPECT_EQ(rates.code, 2);
  EXPECT_THAT(rates.err, HasSubstr("kimesh: --measured requires --suggest. "));
  const Ended time = run_program(scratch, {"plan", kTopology, "--compute", "banana"});
  EXPECT_EQ(time.code, 2);
  EXPECT_EQ(
      time.err,
      "kimesh: --compute is for --predict and --suggest: add one of them, or leave it out.\n");
  const Ended used = run_program(scratch, {"plan", kTopology, "--compute", "banana", "--predict",
                                           "--config", "configs/digits.yaml"});
  EXPECT_EQ(used.code, 2);
  EXPECT_THAT(used.err, HasSubstr("kimesh: --compute: "));
}

}  // namespace
}  // namespace kimesh::test::words_test
