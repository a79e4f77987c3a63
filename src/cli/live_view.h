// The live view of a run: a table that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kimesh/records/tally.h"

namespace kimesh::cli {

class LiveView {
 public:
  LiveView();
  // Draws the state of the run, unless the last drawing is recent or nothing has changed.
  void update(const RunTally& tally, TimePoint now);
  // Prints a sentence above the table.
  void notice(const std::string& text);
  // Draws the final state, which stays on the terminal.
  void finish(const RunTally& tally);

 private:
  void draw(const RunTally& tally);
  void wipe();
  const bool terminal_;
  std::size_t drawn_ = 0;  // lines of the table on the terminal
  std::optional<TimePoint> last_;
  std::string last_line_;
};

}  // namespace kimesh::cli
