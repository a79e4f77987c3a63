// A node that goes on with the records that an earlier start of it has left.
#include "src/mesh/node_reporter.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/mesh/quadratic_mesh.h"

namespace kimesh::node_reporter_test {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kRecordBytesMax = 1 << 20;  // far more than these records have

class ResumedRecords : public testing::Test {
 protected:
  ResumedRecords() {
    std::filesystem::remove_all(folder.path());
    std::filesystem::create_directories(folder.path() + "/nodes");
    options.folder = &folder;
    options.resumes = true;
  }
  ~ResumedRecords() override { std::filesystem::remove_all(folder.path()); }

  // Rounds `begin` to `end` of node a, of a second each.
  static std::string rounds(Round begin, Round end) {
    std::string lines;
    for (Round round = begin; round < end; ++round) {
      RoundRecord record;
      record.round = round;
      record.time_s = static_cast<double>(round + 1);
      record.compute_s = record.round_s = 1;
      lines += to_line(record) + "\n";
    }
    return lines;
  }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static void overwrite(std::string& text, std::size_t at, std::size_t size) {
    text.replace(at, size, size, '\0');
  }
  // Opens the files of node a, and gives its notices.
  std::vector<std::string> open() {
    std::vector<std::string> notices;
    const auto sink = [&notices](const NodeUpdate& update) {
      const auto* record = std::get_if<NodeRecord>(&update.what);
      const auto* notice = record != nullptr ? std::get_if<NoticeRecord>(record) : nullptr;
      if (notice != nullptr) notices.push_back(notice->text);
    };
    const NodeReporter::UpdateSink to = sink;
    auto reporter = NodeReporter::open(*mesh, 0, options, RecordFiles{}, to);
    EXPECT_TRUE(reporter.ok());
    if (!reporter.ok()) return notices;
    const Status limited = reporter->limit_files(kRecordBytesMax, folder);
    EXPECT_TRUE(limited.ok()) << limited.error().message;
    return notices;
  }

  const std::unique_ptr<Mesh> mesh = test::mesh_of(test::files_of("ring"));
  const RunFolder folder{(std::filesystem::path(testing::TempDir()) /
                          ("resumed_records_" + std::to_string(::getpid())))
                             .string()};
  MeshRunOptions options;
};

// Seen to fail: a line that is no record was an error, and the run could not go on.
TEST_F(ResumedRecords, LeaveOutDamagedLinesAndCountThemByTheirFile) {
  std::string earlier = rounds(0, 20), later = rounds(20, 40);
  const std::size_t line = earlier.find('\n') + 1;
  overwrite(earlier, 3 * line + 5, 10);
  put(folder.earlier_events("a"), earlier);
  overwrite(later, later.find('\n') - 20, 40);  // the end of a line and the next one's begin
  overwrite(later, later.size() - 30, 10);
  put(folder.events("a"), later);
  EXPECT_THAT(open(),
              ElementsAre("2 damaged lines of " + folder.events("a") + " are left out",
                          "1 damaged line of " + folder.earlier_events("a") + " is left out"));
}

TEST_F(ResumedRecords, ThatAreWholeNeedNoNotice) {
  put(folder.earlier_events("a"), rounds(0, 20));
  put(folder.events("a"), rounds(20, 40));
  EXPECT_THAT(open(), ElementsAre());
}

}  // namespace
}  // namespace kimesh::node_reporter_test
