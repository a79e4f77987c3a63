#include "kimesh/records/log_bound.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "kimesh/util/fd.h"
#include "tests/records/folder.h"

namespace kimesh::log_bound_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr LogBound kBound{1000, 100};

// A process that appends, as nodes do.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  void say(const std::string& line) const {
    ASSERT_EQ(::write(file_.get(), line.data(), line.size()), std::ssize(line));
  }

 private:
  Fd file_;
};

// Seen to fail: without bound_log; with a cut that leaves the writer at its old place (a hole of
// zeros).
TEST(LogBound, KeepsTheLogOfAWriterThatNeverStopsSmallAndItsLastLines) {
  const test::Folder folder;
  const std::string path = folder / "a.log";
  const Writer writer(path);
  std::string last;
  for (int i = 0; i < 500; ++i) {
    writer.say(last = "line " + std::to_string(i) + "\n");
    ASSERT_TRUE(bound_log(path, kBound).ok());
    EXPECT_LE(test::get(path).size(), kBound.bytes_max);
  }
  const std::string log = test::get(path), before = test::get(path + ".1");
  EXPECT_THAT(log, testing::StartsWith("kimesh: this log had grown over"));
  EXPECT_THAT(log, HasSubstr("are in " + path + ".1\n"));
  EXPECT_THAT(log, testing::EndsWith(last));
  EXPECT_THAT(log, Not(HasSubstr(std::string(1, '\0'))));
  EXPECT_LE(before.size(), kBound.bytes_kept);
  EXPECT_THAT(before, testing::StartsWith("line ")) << "whole lines";
}

TEST(LogBound, LeavesASmallLogAndNoneAlone) {
  const test::Folder folder;
  EXPECT_TRUE(bound_log(folder / "none.log", kBound).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "none.log"));
  test::put(folder / "a.log", "a line\n");
  EXPECT_TRUE(bound_log(folder / "a.log", kBound).ok());
  EXPECT_EQ(test::get(folder / "a.log"), "a line\n");
}

// One line that never ends is no reason to keep nothing of it.
TEST(LogBound, KeepsTheEndOfALogWithoutLines) {
  const test::Folder folder;
  test::put(folder / "a.log", std::string(2000, 'x'));
  EXPECT_TRUE(bound_log(folder / "a.log", kBound).ok());
  EXPECT_EQ(test::get(folder / "a.log.1"), std::string(100, 'x'));
}

}  // namespace
}  // namespace kimesh::log_bound_test
