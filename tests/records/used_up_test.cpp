// A process whose descriptors are used up writes its records all the same.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/util/fd.h"
#include "tests/records/folder.h"

namespace kimesh::used_up_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Takes all descriptors of this process, and gives them back.
class UsedUp {
 public:
  UsedUp() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{std::min<rlim_t>(before_.rlim_cur, kSoftLimit), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      taken_.push_back(std::move(fd));
    }
    EXPECT_EQ(errno, EMFILE);
  }
  UsedUp(const UsedUp&) = delete;
  UsedUp& operator=(const UsedUp&) = delete;
  ~UsedUp() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  static constexpr rlim_t kSoftLimit = 256;
  rlimit before_{};
  std::vector<Fd> taken_;
};

// Seen to fail: the file opened for every write; the empty file made after the full one was moved.
TEST(NodeRecorder, WritesOnWhereDescriptorsAreUsedUpAndBeginsAFileLater) {
  const test::Folder folder;
  const std::string path = folder / "a.jsonl", earlier = folder / "a.1.jsonl";
  auto recorder = NodeRecorder::create(path, NodeRecorder::Flush::kEveryLine);
  ASSERT_TRUE(recorder.ok());
  const std::string one = to_line(NoticeRecord{1, "one"}) + "\n";
  const std::string two = to_line(NoticeRecord{2, "two"}) + "\n";
  const std::string three = to_line(NoticeRecord{3, "three"}) + "\n";
  {
    const UsedUp used_up;
    EXPECT_TRUE(recorder->write(NoticeRecord{1, "one"}).ok());
    EXPECT_TRUE(recorder->begin_file(earlier, {}).ok());
    EXPECT_TRUE(recorder->write(NoticeRecord{2, "two"}).ok());
  }
  EXPECT_EQ(test::get(path), one + two);
  EXPECT_FALSE(std::filesystem::exists(earlier));
  EXPECT_EQ(recorder->bytes(), one.size() + two.size());
  ASSERT_TRUE(recorder->begin_file(earlier, {}).ok());
  {
    const UsedUp used_up;
    EXPECT_TRUE(recorder->write(NoticeRecord{3, "three"}).ok());
    EXPECT_TRUE(recorder->close().ok());
  }
  EXPECT_EQ(test::get(earlier), one + two);
  EXPECT_EQ(test::get(path), to_line(BeforeRecord{}) + "\n" + three);
}

TEST(NodeRecorder, GoesOnWithItsFileWhereDescriptorsAreUsedUp) {
  const test::Folder folder;
  test::put(folder / "a.jsonl", "one\nhalf");
  auto recorder = NodeRecorder::extend(folder / "a.jsonl", NodeRecorder::Flush::kEveryLine);
  ASSERT_TRUE(recorder.ok());
  {
    const UsedUp used_up;
    EXPECT_TRUE(recorder->write(NoticeRecord{2, "two"}).ok());
  }
  EXPECT_EQ(test::get(folder / "a.jsonl"), "one\n" + to_line(NoticeRecord{2, "two"}) + "\n");
}

// Seen to fail: a file begun that was not made.
TEST(DecisionLog, WritesOnWhereDescriptorsAreUsedUpAndBeginsAFileLater) {
  const Plan plan = test::small_plan(2);
  const test::Folder folder;
  std::filesystem::create_directories(folder / "nodes");
  const RunFolder run(folder.path());
  const auto decided_at = [](Round round) {
    return Decision{Decision::Kind::kCheckpoint, round, 0, {}, {}};
  };
  auto log = DecisionLog::create(plan, run.decisions("a"));
  auto other = DecisionLog::create(plan, run.decisions("b"));
  ASSERT_TRUE(log.ok() && other.ok());
  ASSERT_TRUE(other->write({Decision::Kind::kResume, 0, 0, {}, {}}).ok() && other->flush().ok());
  {
    const UsedUp used_up;
    EXPECT_TRUE(log->write(decided_at(1)).ok());
    EXPECT_TRUE(log->begin_file(1, 1, 0).ok());
    EXPECT_TRUE(log->write(decided_at(2)).ok());
    EXPECT_TRUE(log->flush().ok());
  }
  EXPECT_THAT(test::get(run.decisions("a")), Not(HasSubstr("begin")));
  EXPECT_TRUE(log->begin_file(2, 1 << 20, 0).ok());
  EXPECT_THAT(test::get(run.decisions("a")), HasSubstr("begin"));
  EXPECT_TRUE(log->write(decided_at(3)).ok() && log->flush().ok());
  const auto loaded = load_decisions(plan, folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (const Round round : {1u, 2u, 3u}) EXPECT_TRUE((*loaded)->checkpoint(round)) << round;
  EXPECT_EQ((*loaded)->first_round(), 0u);
}

// Seen to fail: links of the open file not counted.
TEST(NodeRecorder, SaysThatItsFileWasRemoved) {
  const test::Folder folder;
  auto recorder = NodeRecorder::create(folder / "a.jsonl", NodeRecorder::Flush::kEveryLine);
  ASSERT_TRUE(recorder.ok());
  std::filesystem::remove(folder / "a.jsonl");
  const Status written = recorder->write(NoticeRecord{1, "lost"});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message,
            (folder / "a.jsonl") + " cannot be written: No such file or directory");
}

// Seen to fail: a simulation's files held.
TEST(LineFile, HoldsNoDescriptorWhereItIsToBeClosed) {
  const test::Folder folder;
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  auto file = LineFile::create(folder / "a", LineFile::Hold::kClosed);
  ASSERT_TRUE(file.ok() && file->append("one").ok() && file->flush().ok());
  ASSERT_TRUE(file->move_to(folder / "b").ok());
  ASSERT_TRUE(file->append("two").ok() && file->flush().ok());
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(test::get(folder / "b"), "one\n");
  EXPECT_EQ(test::get(folder / "a"), "two\n");
}

}  // namespace
}  // namespace kimesh::used_up_test
