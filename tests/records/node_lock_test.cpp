#include "kimesh/records/node_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "tests/records/folder.h"

namespace kimesh::node_lock_test {
namespace {

// Another process, which takes the lock and holds it until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe(ends.data()), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const auto lock = NodeLock::take(path);
      const char has_it = lock.ok() ? 'y' : 'n';
      static_cast<void>(!::write(ends[1], &has_it, 1));
      for (;;) ::pause();
    }
    char has_it = 0;
    EXPECT_EQ(::read(ends[0], &has_it, 1), 1);
    holds_ = has_it == 'y';
    for (const int end : ends) ::close(end);
  }
  ~Holder() { kill(); }
  [[nodiscard]] bool holds() const { return holds_; }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  bool holds_ = false;
};

// Seen to fail: a lock that another process has taken for one that the file system does not know.
TEST(NodeLock, KeepsAnotherProcessOutUntilItsHolderDies) {
  const test::Folder folder;
  const std::string path = folder / "a.lock";
  Holder other(path);
  ASSERT_TRUE(other.holds());
  const auto refused = NodeLock::take(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("a.lock is held by another process or mesh, which"));
  other.kill();
  EXPECT_TRUE(NodeLock::take(path).ok());
}

// A notebook may run a cell again whose mesh is still there. Seen to fail without the list of the
// process's own locks.
TEST(NodeLock, KeepsASecondMeshOfItsProcessOut) {
  const test::Folder folder;
  const std::string path = folder / "a.lock";
  const auto lock = NodeLock::take(path);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(NodeLock::take(path).ok());
  EXPECT_FALSE(Holder(path).holds()) << "the one that was refused has let go of the lock";
}

TEST(NodeLock, LeavesNoFileWhereItIsLetGo) {
  const test::Folder folder;
  const std::string path = folder / "a.lock";
  {
    const auto lock = NodeLock::take(path);
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(Holder(path).holds());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(Holder(path).holds());
}

TEST(NodeLock, NamesAFileThatItCannotMake) {
  const test::Folder folder;
  const auto lock = NodeLock::take(folder / "none/a.lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(lock.error().message, testing::HasSubstr("none/a.lock cannot be made"));
}

}  // namespace
}  // namespace kimesh::node_lock_test
