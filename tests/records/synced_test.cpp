// What is on the disk before its name is, and when its name is: fsync of this program writes down
// what it is asked for.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kimesh/records/durable_file.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/records/text_file.h"
#include "tests/records/folder.h"

namespace kimesh::synced_test {
namespace {

using testing::ElementsAre;

// The calls of fsync while one of these is there.
struct Synced {
  explicit Synced(std::string the_path) : path(std::move(the_path)) { current = this; }
  Synced(const Synced&) = delete;
  Synced& operator=(const Synced&) = delete;
  ~Synced() { current = nullptr; }

  void add(int file) {
    const bool has_name = std::filesystem::exists(path);
    const auto what = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    calls.push_back(what.filename().string() + (has_name ? ", named" : ", not named"));
  }

  std::string path;  // of the file that is to get its name
  std::vector<std::string> calls;
  static inline Synced* current = nullptr;
};

}  // namespace
}  // namespace kimesh::synced_test

extern "C" int fsync(int file) {
  using kimesh::synced_test::Synced;
  if (Synced::current != nullptr) Synced::current->add(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace kimesh::synced_test {
namespace {

std::string last_name(const test::Folder& folder) {
  return std::filesystem::path(folder.path()).filename().string();
}

TEST(Synced, ADurableFileBeforeItsNameAndThenItsFolder) {
  const test::Folder folder;
  const Synced synced(folder / "a");
  const std::string text = "text";
  ASSERT_TRUE(write_durable(folder / "a", std::as_bytes(std::span(text))).ok());
  EXPECT_EQ(test::get(folder / "a"), text);
  EXPECT_THAT(synced.calls, ElementsAre("a.tmp, not named", last_name(folder) + ", named"));
}

// Seen to fail: nothing was synced, so that a loss of power left an empty run.json.
TEST(Synced, WhatOneRunsNodesShareBeforeItsNameAndThenItsFolder) {
  const test::Folder folder;
  const Synced synced(folder / "run.json");
  ASSERT_TRUE(RunFolder(folder.path()).write_info({}).ok());
  EXPECT_THAT(synced.calls,
              ElementsAre("run.json.0.tmp, not named", last_name(folder) + ", named"));
}

// A file of health or a report is written often, or easily made anew.
TEST(Synced, NothingOfAFileThatIsOnlyWhole) {
  const test::Folder folder;
  const Synced synced(folder / "a");
  ASSERT_TRUE(write_whole(folder / "a", std::string_view("text")).ok());
  EXPECT_THAT(synced.calls, ElementsAre());
}

}  // namespace
}  // namespace kimesh::synced_test
