// Files that commands write have a place before any work, and no file is lost by them.
#include <gmock/gmock.h>

#include "tests/e2e/program.h"

namespace kimesh::test::outputs_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

using Words = std::vector<std::string>;

constexpr const char* kQuadratic =
    "quadratic: {dimension: 20}\noptimizer: {kind: sgd, lr: 0.1}\nstop: {rounds: 3}\n";

class Outputs : public testing::Test {
 protected:
  Outputs() {
    scratch.write("q.yaml", kQuadratic);
    scratch.write("mesh.yaml", "kind: ring\n" + nodes_at_own_host({"a", "b"}));
  }
  Words simulate(const Words& more) const {
    Words words{"simulate", "--config", "q.yaml", "--topology", "mesh.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The words are refused with one sentence, and the file is as it was.
  void expect_kept(const std::string& file, const Words& words, const std::string& why) const {
    const std::string path = scratch.path() + "/" + file, before = read_text(path);
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 2) << words[0] << " " << file;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
    EXPECT_THAT(ended.err,
                HasSubstr(": " + file + " cannot be written: " + why + ". Name another file.\n"));
    EXPECT_EQ(read_text(path), before) << words[0];
  }

  Scratch scratch;
};

// Seen to fail: the user's own topology with a plan in its place.
TEST_F(Outputs, NoInputIsWrittenOver) {
  const std::string why = "it is one of the files that are read";
  expect_kept("mesh.yaml", {"plan", "mesh.yaml", "--json", "mesh.yaml"}, why);
  std::filesystem::create_symlink("mesh.yaml", scratch.path() + "/link.json");
  expect_kept("link.json", {"plan", "mesh.yaml", "--json", "link.json"}, why);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() + "/link.json"));
  expect_kept("q.yaml", simulate({"--json", "q.yaml"}), why);
  scratch.write("c.json", read_text(KIMESH_SOURCE_DIR "/configs/digits.yaml"));
  expect_kept("c.json", {"up", "--config", "c.json", "--topology", "mesh.yaml", "--json", "c.json"},
              why);
  expect_kept("c.json", {"eval", "model", "--config", "c.json", "--json", "c.json"}, why);
  expect_kept("c.json",
              {"node", "--config", "c.json", "--topology", "mesh.yaml", "--name", "a", "--health",
               "c.json"},
              why);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs"));
}

// Seen to fail: a run whose run.json was a report, and a config that was one.
TEST_F(Outputs, NoFileOfARunAndNoneOfAnotherKindIsWrittenOver) {
  ASSERT_EQ(run_program(scratch, simulate({"--run", "r"})).code, 0);
  const std::string why = "it is a file of the run in runs/r";
  for (const std::string file : {"run.json", "summary.json", "config.yaml", "nodes/a.jsonl"})
    expect_kept("runs/r/" + file,
                {"report", "runs/r", "--format", "json", "--output", "runs/r/" + file}, why);
  expect_kept("runs/r/run.json",
              {"plan", "mesh.yaml", "--config", "q.yaml", "--suggest", "best.yaml", "--measured",
               "runs/r", "--json", "runs/r/run.json"},
              why);
  expect_kept("runs/s/summary.json", simulate({"--run", "s", "--json", "runs/s/summary.json"}),
              "it is a file of the run in runs/s");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs/s"));

  expect_kept("q.yaml", {"report", "runs/r", "--output", "q.yaml"},
              "it is there already, and is no .html file by its name");
  scratch.write("table.csv", "1,2\n");
  expect_kept("table.csv", simulate({"--json", "table.csv"}),
              "it is there already, and is no .json file by its name");
  scratch.write("new", "");  // as mktemp makes it
  for (const std::string file : {"new", "other", "runs/r/report.html", "page.html", "page.html"})
    EXPECT_EQ(run_program(scratch, {"report", "runs/r", "--output", file}).code, 0) << file;
}

// Seen to fail: code 1 without a remedy, after the work was done, and an exception of a file's
// name with 300 characters.
TEST_F(Outputs, AFileThatCannotBeWrittenIsRefusedBeforeAnyWork) {
  ASSERT_EQ(run_program(scratch, simulate({"--run", "r"})).code, 0);
  const std::string remedy =
      " Name a file in a folder that is there, and to which you may write.\n";
  for (const std::size_t length : {252u, 300u}) {
    const std::string name(length, 'x');
    for (const Words& words : {Words{"join", "runs/r"}, {"report", "runs/r"}}) {
      Words all = words;
      all.insert(all.end(), {"--output", name});
      const Ended ended = run_program(scratch, all);
      EXPECT_EQ(ended.code, 2);
      EXPECT_EQ(ended.err,
                "kimesh: --output: " + name + " cannot be written: File name too long." + remedy);
    }
  }
  for (const Words& words :
       {Words{"join", "runs/r", "--output"},
        {"report", "runs/r", "--output"},
        {"plan", "mesh.yaml", "--config", "q.yaml", "--suggest"},
        {"node", "--config", "q.yaml", "--topology", "mesh.yaml", "--name", "a", "--health"}}) {
    Words all = words;
    all.push_back("nofolder/x");
    const Ended ended = run_program(scratch, all);
    EXPECT_EQ(ended.code, 2) << words[0];
    EXPECT_EQ(ended.out, "") << words[0];
    EXPECT_THAT(ended.err, EndsWith(": nofolder/x cannot be written: nofolder/: No such file or "
                                    "directory." +
                                    remedy));
  }
}

// Seen to fail: code 1 without a remedy.
TEST_F(Outputs, AFileInPlaceOfAFolderIsRefusedBeforeAnyWork) {
  scratch.write("file", "");
  const std::string file = std::filesystem::canonical(scratch.path()).string() + "/file";
  for (const std::string folder : {"file", "file/x"})
    for (const Words& words :
         {Words{"keygen", "mesh.yaml", "--out"},
          {"init", "--output"},
          {"export", "compose", "mesh.yaml", "--config", "configs/digits.yaml", "--output"},
          {"join", "runs/r", "--topology", "mesh.yaml", "--output"}}) {
      Words all = words;
      all.push_back(folder);
      const Ended ended = run_program(scratch, all);
      EXPECT_EQ(ended.code, 2) << words[0];
      EXPECT_EQ(ended.err, "kimesh: " + words.back() + ": " + folder +
                               " cannot be written: " + file +
                               " is no folder. Name a folder that you may make or write to.\n");
    }
  scratch.write("keys.yaml",
                "kind: ring\nsecurity: curve\nkeys: file\n" + nodes_at_own_host({"a", "b"}));
  const Ended ended = run_program(scratch, {"keygen", "keys.yaml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("keys.yaml: keys: file cannot be written: "));
  EXPECT_EQ(run_program(scratch, {"keygen", "mesh.yaml", "--out", "new/in/new"}).code, 0);
}

}  // namespace
}  // namespace kimesh::test::outputs_test
