// What a run shows while it goes on: a table that is drawn anew on a terminal, plain lines
// elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kimesh/records/tally.h"

namespace kimesh::cli {

class LiveView {
 public:
  LiveView();
  // Draws when the last time is long enough ago and something is new.
  void update(const RunTally& tally, TimePoint now);
  // A sentence that stays: above the table, or as a line.
  void notice(const std::string& text);
  // The last state, for good.
  void finish(const RunTally& tally);

 private:
  void draw(const RunTally& tally);
  void wipe();
  const bool terminal_;
  std::size_t drawn_ = 0;  // lines of the table that stand on the terminal
  std::optional<TimePoint> last_;
  std::string last_line_;
};

}  // namespace kimesh::cli
