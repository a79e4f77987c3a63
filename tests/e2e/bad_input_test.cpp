// Wrong words and files get a sentence before anything is begun, and lost output is a failure.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"

namespace kimesh::test::bad_input_test {
namespace {

using testing::HasSubstr;

using Words = std::vector<std::string>;

constexpr const char* kTopology = "topologies/ring4.yaml";

// Runs it in a shell, which can do more with its files.
CommandEnd in_shell(const Scratch& scratch, const std::string& words) {
  return run_command({"bash", "-c", "cd " + scratch.path() + " && " KIMESH_BINARY " " + words});
}

// Seen to fail with code 1 and "basic_filebuf::underflow error reading the file: Is a directory".
TEST(BadInput, AFolderInPlaceOfADataFileIsRefusedByEveryCommandThatReadsIt) {
  const Scratch scratch;
  scratch.write("config.yaml",
                "model: {kind: mlp}\ndata: {kind: csv, path: table, label: 1}\n"
                "optimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n");
  std::filesystem::create_directory(scratch.path() + "/table");
  for (const Words& words : {Words{"up", "--topology", kTopology},
                             {"node", "--topology", kTopology, "--name", "a"},
                             {"simulate", "--topology", kTopology},
                             {"plan", kTopology},
                             {"eval", "model"}}) {
    Words all = words;
    all.insert(all.end(), {"--config", "config.yaml"});
    const Ended ended = run_program(scratch, all);
    EXPECT_EQ(ended.code, 2) << words[0];
    EXPECT_EQ(ended.err,
              "kimesh: config.yaml:2: there is no file table, which data.path asks for. Point "
              "data.path at a CSV file; a relative path counts from the config file's folder.\n")
        << words[0];
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

// Seen to fail: a run to its end, whose figures had no place then; the run's own folder, missing
// still, compared as text; a pipe written over.
TEST(BadInput, FiguresThatWouldHaveNoPlaceAreRefusedAtTheStart) {
  const Scratch scratch;
  const Words files{"--config", "configs/digits.yaml", "--topology", kTopology};
  for (const Words& words : {Words{"up", files[0], files[1], files[2], files[3]},
                             {"simulate", files[0], files[1], files[2], files[3]},
                             {"plan", kTopology},
                             {"eval", "model", files[0], files[1]}}) {
    Words all = words;
    all.insert(all.end(), {"--json", "nodir/x.json"});
    const Ended ended = run_program(scratch, all);
    EXPECT_EQ(ended.code, 2) << words[0];
    EXPECT_EQ(ended.out, "") << words[0];
    EXPECT_EQ(ended.err,
              "kimesh: --json: nodir/x.json cannot be written: nodir/: No such file or directory. "
              "Name a file in a folder that is there, and to which you may write.\n")
        << words[0];
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
  scratch.write("short.yaml",
                "quadratic: {dimension: 20}\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n");
  const Ended own = run_program(scratch, {"simulate", "--config", "short.yaml", "--topology",
                                          kTopology, "--run", "r", "--json", "runs/r/x.json"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/runs/r/x.json"));
  const std::string whole = std::filesystem::canonical(scratch.path()).string() + "/runs/s/x.json";
  const Ended whole_path = run_program(scratch, {"simulate", "--config", "short.yaml", "--topology",
                                                 kTopology, "--run", "s", "--json", whole});
  EXPECT_EQ(whole_path.code, 0) << whole_path.err;
  const Ended folder = run_program(scratch, {"plan", kTopology, "--json", "configs"});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, HasSubstr("--json: configs cannot be written: it is a folder."));
  ASSERT_EQ(::mkfifo((scratch.path() + "/pipe").c_str(), 0600), 0);
  const Ended pipe = run_program(scratch, {"plan", kTopology, "--json", "pipe"});
  EXPECT_EQ(pipe.code, 2);
  EXPECT_THAT(pipe.err, HasSubstr("pipe cannot be written: it is no regular file."));
}

// Seen to fail: the folder of --run-folder left out of account.
TEST(BadInput, ANodeThatGoesOnHasItsFolderAlready) {
  const Scratch scratch;
  const Ended ended = run_program(
      scratch, {"node", "--name", "a", "--resume", "runs/old", "--run-folder", "runs/new"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "kimesh: --run-folder names a new folder and --resume one that is there: write one of "
            "them.\n");
}

// Seen to fail: containers that no byte is left for.
TEST(BadInput, AContainerNeedsMemoryAndDisk) {
  const Scratch scratch;
  for (const char* option : {"--memory", "--disk"}) {
    const Ended ended = run_program(scratch, {"export", "kubernetes", kTopology, "--config",
                                              "configs/digits.yaml", option, "0B"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err,
                HasSubstr(std::string(option) + ": 0B is not above 0; write a size such as 4GiB."));
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/mesh"));
}

// Seen to fail: new runs in place of one that was to go on, and of a replay.
TEST(BadInput, AnEmptyValueIsNotAnOptionThatWasLeftOut) {
  const Scratch scratch;
  scratch.write("q.yaml",
                "quadratic: {dimension: 20}\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n");
  const Words digits{"--config", "configs/digits.yaml", "--topology", kTopology};
  const Words quadratic{"--config", "q.yaml", "--topology", kTopology};
  struct Case {
    Words words;
    const Words* files;
    const char* option;
  };
  const Words none;
  for (const auto& [words, files, option] :
       {Case{{"node", "--name", "a"}, &digits, "--resume"},
        Case{{"node", "--name", "a"}, &digits, "--run-folder"},
        Case{{"node", "--name", "a"}, &digits, "--keys"},
        Case{{"node", "--name", "a"}, &digits, "--health"},
        Case{{"node", "--name", "a"}, &digits, "--metrics"}, Case{{"up"}, &digits, "--resume"},
        Case{{"up"}, &digits, "--ssh"}, Case{{"up"}, &digits, "--web-token"},
        Case{{"simulate"}, &quadratic, "--replay"}, Case{{"simulate"}, &quadratic, "--json"},
        Case{{"simulate"}, &quadratic, "--run"}, Case{{"plan", kTopology}, &none, "--config"},
        Case{{"plan", kTopology, "--config", "q.yaml"}, &none, "--suggest"},
        Case{{"keygen", kTopology}, &none, "--out"}, Case{{"join", "runs/x"}, &none, "--output"},
        Case{{"report", "runs/x"}, &none, "--output"}, Case{{"init"}, &none, "--output"},
        Case{{"export", "compose", kTopology, "--config", "q.yaml"}, &none, "--output"}}) {
    Words all = words;
    all.insert(all.end(), files->begin(), files->end());
    all.insert(all.end(), {option, ""});
    const Ended ended = run_program(scratch, all);
    EXPECT_EQ(ended.code, 2) << words[0] << " " << option;
    EXPECT_EQ(ended.err, std::string("kimesh: ") + option +
                             ": the value is empty; write one, or leave the option out.\n");
  }
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

// Seen to fail with code 0: the rounds of a config, with the decisions of another one.
TEST(BadInput, AReplayIsOfARunWithTheSameFiles) {
  const Scratch scratch;
  const std::string config =
      "quadratic: {dimension: 20}\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n";
  scratch.write("q.yaml", config + "seed: 1\n");
  const Words simulate{"simulate", "--config", "q.yaml", "--topology", kTopology};
  const auto replay = [&](const std::string& run, const std::string& named) {
    Words all = simulate;
    all.insert(all.end(), {"--replay", run, "--run", named});
    return run_program(scratch, all);
  };
  Words first = simulate;
  first.insert(first.end(), {"--run", "r"});
  ASSERT_EQ(run_program(scratch, first).code, 0);
  EXPECT_EQ(replay("runs/r", "same").code, 0);

  scratch.write("q.yaml", config + "seed: 2\n");
  const Ended other = replay("runs/r", "other");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err,
            "kimesh: --replay: runs/r holds a run with another config or topology, and its "
            "decisions belong to that. Name the files of that run, of which runs/r has copies.\n");
  EXPECT_EQ(run_program(scratch, {"simulate", "--config", "runs/r/config.yaml", "--topology",
                                  "runs/r/topology.yaml", "--replay", "runs/r", "--run", "copies"})
                .code,
            0);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs/other"));
  // Records of an earlier version may tell no settings.
  std::filesystem::remove(scratch.path() + "/runs/r/run.json");
  EXPECT_EQ(replay("runs/r", "untold").code, 0);
}

// A pipe has nothing left for a second reader. Seen to fail: "the file is empty".
TEST(BadInput, CheckReadsFilesFromPipes) {
  const Scratch scratch;
  const CommandEnd good =
      in_shell(scratch, "check <(cat configs/digits.yaml) <(cat topologies/ring4.yaml)");
  EXPECT_EQ(good.code, 0) << good.said;
  EXPECT_THAT(good.said, HasSubstr(": a config, no problem\n"));
  EXPECT_THAT(good.said, HasSubstr(": a topology of 4 nodes, no problem\n"));
  const CommandEnd bad = in_shell(scratch, "check <(echo 'hosts: {a: {ssh: box, port: 1}}')");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.said, HasSubstr(":1: unknown key 'port' in hosts.a. Write one of: "));
}

// Seen to fail with code 0 and empty copies in the folders.
TEST(BadInput, APipeIsRefusedWhereItsTextIsWantedAgain) {
  const Scratch scratch;
  const std::string text =
      "quadratic: {dimension: 20}\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n";
  scratch.write("q.yaml", text);
  const std::string says =
      " is no regular file, and its text is wanted a second time. Write it to a file, and name "
      "that.\n";
  const std::string topology = std::string(" ") + kTopology;
  for (const std::string& words :
       {"simulate --config <(cat q.yaml) --topology" + topology,
        "simulate --config q.yaml --topology <(cat" + topology + ")",
        "up --config <(cat configs/digits.yaml) --topology" + topology,
        "node --name a --config <(cat configs/digits.yaml) --topology" + topology,
        "export compose" + topology + " --config <(cat configs/digits.yaml)",
        "join runs/x --topology <(cat" + topology + ") --config q.yaml --from" + topology,
        "plan <(cat" + topology + ") --config q.yaml --suggest new.yaml"}) {
    const CommandEnd ended = in_shell(scratch, words);
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_THAT(ended.said, testing::MatchesRegex("kimesh: [^ ]+" + says)) << words;
  }
  for (const char* made : {"runs", "mesh", "new.yaml"})
    EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/" + made)) << made;
  const CommandEnd drawn = in_shell(scratch, "plan" + topology + " --config <(cat q.yaml)");
  EXPECT_EQ(drawn.code, 0) << drawn.said;
}

// Seen to fail with code 0: what was printed was never looked after.
TEST(LostOutput, OfADiskThatIsFullIsAFailure) {
  const Scratch scratch;
  for (const std::string words : {"--help", "explain", "plan topologies/ring4.yaml", "man"}) {
    const CommandEnd ended = in_shell(scratch, words + " >/dev/full");
    EXPECT_EQ(ended.code, 1) << words;
    EXPECT_EQ(ended.said, "kimesh: the output cannot be written: No space left on device\n")
        << words;
  }
}

}  // namespace
}  // namespace kimesh::test::bad_input_test
