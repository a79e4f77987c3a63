#include "kimesh/records/run_folder.h"

#include <gmock/gmock.h>

#include "kimesh/topology/topology_file.h"
#include "tests/records/folder.h"

namespace kimesh::run_folder_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Files of a user, and a request to run them.
struct User {
  User() {
    std::filesystem::create_directories(folder / "given/traces");
    test::put(folder / "given/digits.yaml", "the config");
    test::put(folder / "given/ring4.yaml", "the topology");
    test::put(folder / "given/traces/office.csv", "0,1Mbit");
    request.parent = folder / "runs";
    request.config_path = folder / "given/digits.yaml";
    request.topology_path = folder / "given/ring4.yaml";
  }
  test::Folder folder;
  RunFolderRequest request;
};

TEST(RunFolder, CountsRunsOfTheSameFiles) {
  const User user;
  for (const char* name : {"/digits-ring4-1", "/digits-ring4-2", "/digits-ring4-3"}) {
    const auto run = RunFolder::create(user.request);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_THAT(run->path(), EndsWith(name));
  }
}

TEST(RunFolder, KeepsCopiesThatLoadLikeTheOriginals) {
  User user;
  user.request.topology_files = {"traces/office.csv"};
  const auto run = RunFolder::create(user.request);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(test::get(run->path() + "/config.yaml"), "the config");
  EXPECT_EQ(test::get(run->path() + "/topology.yaml"), "the topology");
  EXPECT_EQ(test::get(run->path() + "/traces/office.csv"), "0,1Mbit");
}

// Seen to fail: with the check for ".." left out, the copy landed beside the run's folder.
TEST(RunFolder, NeverCopiesToAPlaceOutsideOfItself) {
  User user;
  test::put(user.folder / "above.csv", "0,1,2");
  user.request.config_files = {"../above.csv"};
  const auto run = RunFolder::create(user.request);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(test::get(run->path() + "/above.csv"), "0,1,2");
  EXPECT_FALSE(std::filesystem::exists(user.folder / "runs/above.csv"));
}

// Seen to fail: the copy named a trace beside the folder of all runs, and of two traces with one
// name the second was written over the first.
TEST(RunFolder, HasATopologyThatLoadsWhereverItsTracesLay) {
  User user;
  test::put(user.folder / "office.csv", "0,2Mbit");
  const std::string elsewhere = user.folder / "given/traces/office.csv";
  test::put(user.request.topology_path,
            "kind: ring\n"
            "nodes:\n"
            "  a: {address: \"tcp://127.0.0.1:7101\"}\n"
            "  b: {address: \"tcp://127.0.0.1:7102\"}\n"
            "links: {a -> b: {trace: ../office.csv}, b -> a: {trace: " +
                elsewhere + "}}\n");
  user.request.topology_files = {"../office.csv", elsewhere};
  const auto run = RunFolder::create(user.request);
  ASSERT_TRUE(run.ok()) << run.error().message;
  const auto given = load_topology(user.request.topology_path);
  const auto copy = load_topology(run->topology());
  ASSERT_TRUE(given.ok()) << to_string(given.problems.front());
  std::filesystem::remove_all(user.folder / "office.csv");
  std::filesystem::remove_all(user.folder / "given");
  ASSERT_TRUE(copy.ok()) << to_string(copy.problems.front());
  EXPECT_EQ(copy.value.canonical(), given.value.canonical());
  EXPECT_TRUE(load_topology(run->topology()).ok());
}

// Seen to fail: with the answer of make_folder passed over, the second run took the first's place.
// A run goes on with the keys that it began with, which do not lie beside the copy of its topology.
TEST(RunFolder, TellsWhereTheKeysLieButHoldsNone) {
  User user;
  const auto run = RunFolder::create(user.request);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->keys_folder(), "") << "there is no run.json yet";
  RunInfo info;
  ASSERT_TRUE(run->write_info(info).ok());
  EXPECT_EQ(run->keys_folder(), "");
  info.keys_folder = "/home/of/keys";
  ASSERT_TRUE(run->write_info(info).ok());
  EXPECT_EQ(run->keys_folder(), "/home/of/keys");
  test::put(run->path() + "/run.json", R"({"keys": 7})");
  EXPECT_EQ(run->keys_folder(), "");
}

TEST(RunFolder, NeverWritesOverARun) {
  User user;
  user.request.name = "mine";
  ASSERT_TRUE(RunFolder::create(user.request).ok());
  const auto again = RunFolder::create(user.request);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(again.error().message, EndsWith("/runs/mine is there already and is not written "
                                              "over. Choose another name."));
}

TEST(RunFolder, RefusesNamesThatLeadElsewhere) {
  User user;
  for (const std::string name : {"../x", "a/b", ".hidden", "two words", "\n"}) {
    user.request.name = name;
    const auto run = RunFolder::create(user.request);
    ASSERT_FALSE(run.ok()) << name;
    EXPECT_EQ(run.error().code, ErrorCode::kUserInput);
    EXPECT_THAT(run.error().message, HasSubstr("cannot name a run"));
  }
}

TEST(RunFolder, NamesAFileThatItCannotCopy) {
  User user;
  user.request.topology_files = {"traces/none.csv"};
  const auto run = RunFolder::create(user.request);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("none.csv cannot be read"));
}

TEST(RunFolder, RefusesANodeThatWasThereBefore) {
  const test::Folder folder;
  const RunFolder run(folder / "shared");
  ASSERT_TRUE(run.prepare_node("a").ok());
  test::put(run.events("a"), "");
  EXPECT_TRUE(run.prepare_node("b").ok());
  const Status again = run.prepare_node("a");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kUserInput);
}

TEST(RunFolder, TellsHowTheRunWasStarted) {
  const User user;
  const auto run = RunFolder::create(user.request);
  ASSERT_TRUE(run.ok());
  ASSERT_TRUE(run->write_info({.command = {"kimesh", "up"},
                               .version = "0.1.0",
                               .build = "g++",
                               .environment = "LibTorch",
                               .started = "2026-01-01T00:00:00Z",
                               .seed = 7,
                               .config_path = "c.yaml",
                               .topology_path = "t.yaml",
                               .nodes = {"a", "b"},
                               .layout = test::small_layout(),
                               .learning_rate = 0.25,
                               .settings = "0123456789abcdef",
                               .keys_folder = ""})
                  .ok());
  EXPECT_EQ(test::get(run->path() + "/run.json"), R"({
  "command": [
    "kimesh",
    "up"
  ],
  "version": "0.1.0",
  "build": "g++",
  "environment": "LibTorch",
  "started": "2026-01-01T00:00:00Z",
  "seed": 7,
  "config": "c.yaml",
  "topology": "t.yaml",
  "nodes": [
    "a",
    "b"
  ],
  "layout": [
    {
      "name": "layers.0.weight",
      "shape": [
        5,
        4
      ]
    },
    {
      "name": "layers.0.bias",
      "shape": [
        3
      ]
    }
  ],
  "learning_rate": 0.25,
  "settings": "0123456789abcdef"
}
)");
  EXPECT_EQ(run->layout().size(), 23u);
  EXPECT_EQ(run->layout().layers[1].offset, 20u);
}

// Seen to fail: a run.json over 1 MiB counted as none, and a node that was to go on with a run of
// these settings began another one.
TEST(RunFolder, TellsTheLargestLayoutOfAPlugin) {
  const test::Folder folder;
  const RunFolder run(folder.path());
  RunInfo info;
  info.settings = "0123456789abcdef";
  for (std::size_t i = 0; i < 10'000; ++i) {
    std::string name = std::to_string(i);
    name.resize(200, '"');
    info.layout.layers.push_back({name, std::vector<std::int64_t>(16, 1), i, 1});
  }
  ASSERT_TRUE(run.write_info(info).ok());
  EXPECT_EQ(run.settings(), info.settings);
  EXPECT_EQ(run.layout().size(), 10'000u);
}

// Seen to fail: it was written, and then counted as none.
TEST(RunFolder, RefusesALayoutThatItWouldNotRead) {
  const test::Folder folder;
  RunInfo info;
  info.layout.layers.push_back({std::string(20'000'000, 'w'), {1}, 0, 1});
  const Status written = RunFolder(folder.path()).write_info(info);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(written.error().message, HasSubstr("/run.json would take 20000"));
  EXPECT_THAT(written.error().message, EndsWith("Use a model of fewer tensors, or of shorter "
                                                "names."));
}

}  // namespace
}  // namespace kimesh::run_folder_test
