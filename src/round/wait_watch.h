// How long a core waits for what it waits for, against the waits of the run so far.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "kimesh/util/ids.h"

namespace kimesh {

class WaitWatch {
 public:
  // To be called at every tick. A wait has ended once the node waits for something else: waits are
  // told to a tick, and those between two ticks count for nothing.
  void look(TimePoint now, Round round, std::string what) {
    if (what == what_) return;
    const Duration waited = what_.empty() ? Duration(0) : now - since_;
    Recent& recent = recent_[round % kRecentRounds];
    if (recent.round != round) recent = {round, Duration(0)};
    recent.longest = std::max(recent.longest, waited);
    longest_ = std::max(longest_, waited);
    what_ = std::move(what);
    since_ = now;
  }
  // The process itself was stopped: the time proves nothing.
  void begin_again(TimePoint now) { since_ = now; }

  [[nodiscard]] const std::string& what() const { return what_; }
  [[nodiscard]] Duration waited(TimePoint now) const {
    return what_.empty() ? Duration(0) : now - since_;
  }
  // Of those that have ended: the longest of the run, and of the last rounds.
  [[nodiscard]] Duration longest() const { return longest_; }
  [[nodiscard]] Duration longest_lately() const {
    return std::ranges::max_element(recent_, {}, &Recent::longest)->longest;
  }

 private:
  // Evaluations and checkpoints, which take longer, come every few dozen rounds in most runs.
  static constexpr std::size_t kRecentRounds = 64;
  struct Recent {
    Round round = 0;
    Duration longest{0};
  };
  std::string what_;  // empty: nobody has looked yet
  TimePoint since_{};
  Duration longest_{0};
  std::array<Recent, kRecentRounds> recent_{};
};

// Vector work that is under way: it makes progress while pieces of it end.
class WorkWatch {
 public:
  void begin(TimePoint now) {
    if (under_way_++ == 0) since_ = now;
  }
  void end(TimePoint now) {
    if (under_way_ > 0) --under_way_;
    since_ = now;
  }
  void begin_again(TimePoint now) { since_ = now; }
  [[nodiscard]] Duration without_progress(TimePoint now) const {
    return under_way_ > 0 ? now - since_ : Duration(0);
  }

 private:
  unsigned under_way_ = 0;
  TimePoint since_{};
};

// When the trainer began its present task, and the longest time of a task of this kind, divided by
// the number of its parts. The parts of a gradient are its local steps.
struct TrainerWatch {
  std::optional<TimePoint> since;
  Duration longest{0};
  void begin(TimePoint now) { since = now; }
  void end(TimePoint now, unsigned parts = 1) {
    if (since) longest = std::max(longest, (now - *since) / parts);
    since.reset();
  }
};

}  // namespace kimesh
