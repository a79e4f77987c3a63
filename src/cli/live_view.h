// The live view of a run: on a terminal a table that is redrawn, with a verdict in it, and a bar
// below it where the run ends after rounds or a time; plain lines elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kimesh/records/tally.h"
#include "kimesh/report/recent_rounds.h"
#include "progress.h"

namespace kimesh::cli {

// The size of the terminal at stdout; the defaults stand where it is unknown.
struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};
[[nodiscard]] TerminalSize terminal_size();

// A progress bar that is redrawn on a terminal, and removed at the end. Elsewhere it shows nothing.
class ProgressRow {
 public:
  ProgressRow();
  ~ProgressRow();
  ProgressRow(const ProgressRow&) = delete;
  ProgressRow& operator=(const ProgressRow&) = delete;
  void show(double share);

 private:
  const bool terminal_;
  Progress progress_;
  std::optional<TimePoint> last_;
};

class LiveView {
 public:
  // `run` has no records yet.
  explicit LiveView(RunHistory run);
  // Takes a round for the verdict, which is shown on a terminal alone.
  void observe(NodeIndex node, const RoundRecord& round);
  // Draws the state of the run, unless the last drawing is recent or nothing has changed.
  void update(const RunTally& tally, TimePoint now);
  // Prints a sentence above the table.
  void notice(const std::string& text);
  // Draws the final state, which stays on the terminal.
  void finish(const RunTally& tally);

 private:
  void draw(const RunTally& tally);
  void draw_table(const RunTally& tally);
  void wipe();
  const bool terminal_;
  const StopOptions stop_;
  RecentRounds recent_;
  Progress progress_;
  bool ended_ = false;
  std::size_t drawn_ = 0;  // lines of the table on the terminal
  std::optional<TimePoint> last_;
  std::string last_line_;
};

}  // namespace kimesh::cli
