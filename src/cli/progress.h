// How far something that takes long has come, and how long it will still take.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "kimesh/records/tally.h"
#include "kimesh/run/run_config.h"
#include "kimesh/util/ids.h"

namespace kimesh::cli {

class Progress {
 public:
  // `share` of the whole, [0, 1], is done at `now`. Neither falls from call to call.
  void add(double share, TimePoint now);
  // The time left at the pace of the last half minute; nothing: too little is known.
  [[nodiscard]] std::optional<Duration> left() const;
  // "[#####-----]  50 %, 1 min 20 s left", and "at most" where it may end sooner.
  [[nodiscard]] std::string bar(std::size_t columns, bool may_end_sooner = false) const;

 private:
  std::deque<std::pair<TimePoint, double>> seen_;
};

// The share of a run that is over, by rounds or by time, whichever is larger; nothing: neither of
// them ends the run.
[[nodiscard]] std::optional<double> share_done(const StopOptions& stop, const RunTally& tally);

// A rounded time, as precise as an estimate deserves: "48 s", "1 min 20 s", "2 h 5 min", "3 d 4 h".
[[nodiscard]] std::string rough_time(Duration time);

}  // namespace kimesh::cli
