// Records that are read while a node writes them, some of them damaged.
#include "kimesh/records/record_follower.h"

#include <gmock/gmock.h>

#include "tests/records/folder.h"

namespace kimesh::record_follower_test {
namespace {

using testing::HasSubstr;

std::string notice(const std::string& text) {
  return to_line(NoticeRecord{1, text}) + "\n";
}

// Seen to fail where a line that is too long ended the reading, and where each damaged line was
// complained of.
TEST(RecordFollower, LeavesOutDamagedLinesAndSaysSoOnce) {
  const test::Folder folder;
  const std::string path = folder / "a";
  const std::string damaged = notice("a") + "torn\n" + std::string(2 * kLineBytesMax, 'x') + "\n";
  test::put(path, damaged + notice("b"));
  RecordFollower records(path, "");
  EXPECT_EQ(std::get<NoticeRecord>(records.next()->value()).text, "a");
  EXPECT_EQ(records.complaint(), std::nullopt);
  EXPECT_EQ(std::get<NoticeRecord>(records.next()->value()).text, "b");
  EXPECT_THAT(records.complaint().value(), HasSubstr("a:2: "));
  EXPECT_EQ(records.complaint(), std::nullopt);
  EXPECT_EQ(records.damaged().at(path), 2u);
  EXPECT_EQ(records.next().value(), std::nullopt);
  test::put(path, damaged + notice("b") + notice("c"));
  EXPECT_EQ(std::get<NoticeRecord>(records.next()->value()).text, "c");
}

}  // namespace
}  // namespace kimesh::record_follower_test
