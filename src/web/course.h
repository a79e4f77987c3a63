// The course of a run as a bounded number of points, whatever its length.
#pragma once

#include <vector>

#include "kimesh/records/recorder.h"
#include "kimesh/report/history.h"

namespace kimesh {

// Half of them at least, once there are so many rounds.
inline constexpr std::size_t kCoursePointsMax = 512;

// A group of rounds.
struct CoursePoint {
  Round round = 0;               // the first of the group, whether it was recorded or not
  double seconds = 0;            // of the run's clock, at its end
  double loss = 0, round_s = 0;  // sums
  std::size_t count = 0;         // rounds, but for closing ones, whose times are left out
  std::size_t losses = 0;        // rounds whose loss is known
};

class Course {
 public:
  // Rounds come in order; one that is there already is dropped, with all behind it.
  void add(const RoundRecord& round, double clock_s);
  // What is known of this round and of later ones is void.
  void forget_from(Round round);

  [[nodiscard]] const std::vector<CoursePoint>& points() const { return points_; }
  [[nodiscard]] const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  // Changes when points do that had a point behind them.
  [[nodiscard]] std::size_t generation() const { return generation_; }

 private:
  void halve();
  void add_evaluation(const RoundRecord& round, double clock_s);
  std::vector<CoursePoint> points_;
  std::vector<Evaluation> evaluations_;  // time_s: the run's clock
  Round width_ = 1;                      // rounds of a group
  Round next_ = 0;                       // behind the last one that was added
  std::size_t generation_ = 0;
};

}  // namespace kimesh
