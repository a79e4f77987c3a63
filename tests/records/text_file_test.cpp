#include "kimesh/records/text_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/records/folder.h"

namespace kimesh::text_file_test {
namespace {

using testing::HasSubstr;

TEST(LineFile, HandsOverWhatItHoldsWhenItIsFlushed) {
  const test::Folder folder;
  auto file = LineFile::create(folder / "a.jsonl");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append("one").ok());
  EXPECT_EQ(test::get(folder / "a.jsonl"), "");
  ASSERT_TRUE(file->append("two").ok());
  ASSERT_TRUE(file->flush().ok());
  EXPECT_EQ(test::get(folder / "a.jsonl"), "one\ntwo\n");
}

// Seen to fail: with `failed_` not kept, the second flush said that all was well.
TEST(LineFile, SaysThatTheDiskIsFullAndNeverForgetsIt) {
  auto file = LineFile::create("/dev/full");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append("lost").ok());
  for (int i = 0; i < 2; ++i) {
    const Status status = file->flush();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_EQ(status.error().message, "/dev/full cannot be written: No space left on device");
  }
  EXPECT_FALSE(file->append("more").ok());
}

TEST(LineFile, WritesByItselfBeforeItHoldsMuch) {
  auto file = LineFile::create("/dev/full");
  ASSERT_TRUE(file.ok());
  const std::string line(10'000, 'x');
  int taken = 0;
  while (taken < 10 && file->append(line).ok()) ++taken;
  EXPECT_EQ(taken, 6);
}

TEST(LineFile, NamesAFolderThatIsNotThere) {
  const test::Folder folder;
  const auto file = LineFile::create(folder / "no/a.jsonl");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("a.jsonl cannot be written: No such file"));
}

// Seen to fail: with a line taken up to the end of the buffer, "thr" came out alone.
TEST(LineFollower, HandsOutWholeLinesOnlyWhileTheFileGrows) {
  const test::Folder folder;
  LineFollower lines(folder / "a.jsonl");
  const auto next = [&] {
    const auto line = lines.next();
    EXPECT_TRUE(line.ok());
    return line.ok() && *line ? **line : std::string("nothing");
  };
  EXPECT_EQ(next(), "nothing");  // no file yet
  test::put(folder / "a.jsonl", "one\ntwo\nthr");
  EXPECT_EQ(next(), "one");
  EXPECT_EQ(next(), "two");
  EXPECT_EQ(next(), "nothing");
  test::put(folder / "a.jsonl", "one\ntwo\nthree\n\n");
  EXPECT_EQ(next(), "three");
  EXPECT_EQ(lines.line(), 3u);
  EXPECT_EQ(next(), "");
  EXPECT_EQ(next(), "nothing");
}

TEST(LineFollower, ReadsLinesOfEveryLengthAcrossItsReads) {
  const test::Folder folder;
  std::string text;
  for (std::size_t length = 0; length < 3'000; ++length)
    text += std::string(length, 'a' + length % 26) + "\n";
  test::put(folder / "a", text);
  LineFollower lines(folder / "a");
  for (std::size_t length = 0; length < 3'000; ++length) {
    const auto line = lines.next();
    ASSERT_TRUE(line.ok() && *line) << length;
    ASSERT_EQ(**line, std::string(length, 'a' + length % 26));
  }
  EXPECT_FALSE(*lines.next());
}

// Of a writer that goes on with an empty file once and again, at every place of a reader.
// Seen to fail where the file that has its other name was not read to its end.
TEST(LineFollower, ReadsEveryLineOfAWriterThatBeginsNewFiles) {
  for (int lag = 0; lag < 5; ++lag) {
    SCOPED_TRACE(lag);
    const test::Folder folder;
    const std::string path = folder / "a.jsonl", earlier = folder / "a.old.jsonl";
    LineFollower lines(path, earlier);
    auto file = LineFile::create(path);
    ASSERT_TRUE(file.ok());
    int written = 0, read = 0;
    const auto read_all = [&] {
      while (const auto line = *lines.next()) EXPECT_EQ(*line, std::to_string(read++));
    };
    for (int files = 0; files < 4; ++files) {
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(file->append(std::to_string(written++)).ok());
        ASSERT_TRUE(file->flush().ok());
        if (i == lag) read_all();
      }
      ASSERT_TRUE(file->move_to(earlier).ok());
      if (lag == 4) read_all();
    }
    ASSERT_TRUE(file->append(std::to_string(written++)).ok());
    ASSERT_TRUE(file->flush().ok());
    read_all();
    EXPECT_EQ(read, written);
    EXPECT_EQ(file->bytes(), 3u);
  }
}

// Lines 0 and 1 are in files that are gone.
TEST(LineFollower, MissesNoFileThatIsStillThere) {
  const test::Folder folder;
  const std::string path = folder / "a", earlier = folder / "a.1";
  auto file = LineFile::create(path);
  ASSERT_TRUE(file.ok());
  const std::ifstream gone(path);  // its number is given to no other file
  LineFollower lines(path, earlier);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(file->append(std::to_string(i)).ok());
    ASSERT_TRUE(i < 3 ? file->move_to(earlier).ok() : file->flush().ok());
    if (i == 0) {
      EXPECT_EQ(**lines.next(), "0");
    }
  }
  EXPECT_EQ(**lines.next(), "2");
  EXPECT_EQ(**lines.next(), "3");
  EXPECT_EQ(*lines.next(), std::nullopt);
}

TEST(LineFollower, ReadsALineThatItsWriterCutOffAndWroteAnew) {
  const test::Folder folder;
  const std::string path = folder / "a";
  test::put(path, "one\nhalf of the");
  LineFollower lines(path);
  EXPECT_EQ(**lines.next(), "one");
  EXPECT_EQ(*lines.next(), std::nullopt);
  auto file = LineFile::extend(path);
  ASSERT_TRUE(file.ok() && file->append("two, which is longer").ok() && file->flush().ok());
  EXPECT_EQ(**lines.next(), "two, which is longer");
  EXPECT_EQ(lines.line(), 2u);
}

// Seen to fail where the next call told the same line again.
TEST(LineFollower, RefusesALineThatIsTooLongOnceAndPassesOverIt) {
  const test::Folder folder;
  const std::string path = folder / "a", far(2 * kLineBytesMax, 'x');
  test::put(path, "short\n" + far);
  LineFollower lines(path);
  ASSERT_TRUE(lines.next().ok());
  const auto line = lines.next();
  ASSERT_FALSE(line.ok());
  EXPECT_THAT(line.error().message, HasSubstr(":2: the line is longer than"));
  EXPECT_EQ(lines.next().value(), std::nullopt);
  test::put(path, "short\n" + far + "x\nbehind\n");
  EXPECT_EQ(lines.next().value(), "behind");
  EXPECT_EQ(lines.line(), 3u);
}

TEST(WriteWhole, LeavesTheOldFileWhenTheDiskIsFull) {
  const test::Folder folder;
  test::put(folder / "a", "old");
  std::filesystem::create_symlink("/dev/full", folder / "a.tmp");
  const Status status = write_whole(folder / "a", std::string_view("new"));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("/a cannot be written: No space left on device"));
  EXPECT_EQ(test::get(folder / "a"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.tmp"));
  EXPECT_TRUE(write_whole(folder / "a", std::string_view("new")).ok());
  EXPECT_EQ(test::get(folder / "a"), "new");
}

TEST(ReadWhole, StopsAtItsLimit) {
  const test::Folder folder;
  test::put(folder / "a", "12345");
  EXPECT_EQ(*read_whole(folder / "a", 5), "12345");
  EXPECT_FALSE(read_whole(folder / "a", 4).ok());
  EXPECT_FALSE(read_whole(folder / "b", 4).ok());
  EXPECT_FALSE(read_whole(folder.path(), 1 << 20).ok());
}

// Seen to fail: an empty text of a pipe; and one without a writer was waited for.
TEST(WholeFile, IsARegularOne) {
  const test::Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("/dev/null")}) {
    const auto read = read_whole(path, 100);
    ASSERT_FALSE(read.ok()) << path;
    EXPECT_EQ(read.error().code, ErrorCode::kIo);
    EXPECT_EQ(read.error().message, path + " cannot be read: it is no regular file");
  }
}

TEST(LastLines, AreTheEndOfALog) {
  const test::Folder folder;
  test::put(folder / "log", "one\ntwo\nthree\n");
  EXPECT_EQ(last_lines(folder / "log", 2), "two\nthree");
  EXPECT_EQ(last_lines(folder / "log", 9), "one\ntwo\nthree");
  test::put(folder / "log", std::string(9'000, 'x').append("\nend\n\n"));
  EXPECT_EQ(last_lines(folder / "log", 1), "end");
  EXPECT_EQ(last_lines(folder / "log", 2).size(), 4'096u - 2);  // "\n\n" is no line
  EXPECT_EQ(last_lines(folder / "none", 2), "");
}

// Seen to fail: without the cut the next line was glued to the half one.
TEST(LineFile, GoesOnBehindTheWholeLinesOfAKilledProcess) {
  const test::Folder folder;
  const std::string path = folder / "lines.jsonl";
  for (const auto& [left, expected] :
       std::vector<std::pair<std::string, std::string>>{{"", "new\n"},
                                                        {"half", "new\n"},
                                                        {"one\n", "one\nnew\n"},
                                                        {"one\ntwo\nha", "one\ntwo\nnew\n"}}) {
    test::put(path, left);
    auto file = LineFile::extend(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("new").ok());
    ASSERT_TRUE(file->flush().ok());
    EXPECT_EQ(test::get(path), expected);
  }
}

// Killed while it began a new file: the full one has its other name, the empty one a temporary one.
TEST(LineFile, GoesOnAfterAKillBetweenItsTwoNames) {
  const test::Folder folder;
  const std::string path = folder / "a.jsonl", earlier = folder / "a.old.jsonl";
  test::put(earlier, "one\ntwo\n");
  test::put(path + ".tmp", "");
  auto file = LineFile::extend(path);
  ASSERT_TRUE(file.ok() && file->append("three").ok() && file->flush().ok());
  LineFollower lines(path, earlier);
  for (const auto& [line, of] : {std::pair("one", earlier), {"two", earlier}, {"three", path}}) {
    EXPECT_EQ(**lines.next(), line);
    EXPECT_EQ(lines.path(), of);
  }
  ASSERT_TRUE(*file->move_to(earlier));
  EXPECT_EQ(test::get(earlier), "three\n");
  EXPECT_EQ(test::get(path), "");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

}  // namespace
}  // namespace kimesh::text_file_test
