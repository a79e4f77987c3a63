#include "course.h"

#include <algorithm>
#include <cmath>

namespace kimesh {

void Course::add(const RoundRecord& round, double clock_s) {
  if (!round.confirmation && round.round < next_) forget_from(round.round);
  add_evaluation(round, clock_s);
  if (round.confirmation) return;
  next_ = round.round + 1;
  const Round begin = round.round / width_ * width_;
  if (points_.empty() || points_.back().round != begin) points_.push_back({.round = begin});
  CoursePoint& point = points_.back();
  point.seconds = clock_s;
  if (std::isfinite(round.loss)) point.loss += round.loss, ++point.losses;
  // Dense messages, which a closing round may have, would leave all others flat.
  if (!round.closing) point.round_s += round.round_s - round.evaluate_s, ++point.count;
  if (points_.size() > kCoursePointsMax) halve();
}

void Course::halve() {
  width_ *= 2;
  std::vector<CoursePoint> fewer;
  for (const CoursePoint& point : points_) {
    const Round begin = point.round / width_ * width_;
    if (fewer.empty() || fewer.back().round != begin) fewer.push_back({.round = begin});
    CoursePoint& both = fewer.back();
    both.seconds = point.seconds;
    both.loss += point.loss;
    both.round_s += point.round_s;
    both.count += point.count;
    both.losses += point.losses;
  }
  points_ = std::move(fewer);
  ++generation_;
}

void Course::forget_from(Round round) {
  std::erase_if(points_, [&](const CoursePoint& point) { return point.round + width_ > round; });
  std::erase_if(evaluations_, [&](const Evaluation& e) { return e.round >= round; });
  next_ = std::min(next_, round);
  ++generation_;
}

void Course::add_evaluation(const RoundRecord& round, double clock_s) {
  if (!round.accuracy || !round.accuracy_round) return;
  if (!evaluations_.empty() && evaluations_.back().round >= *round.accuracy_round) return;
  evaluations_.push_back({*round.accuracy_round, clock_s, *round.accuracy, round.test_loss});
  if (evaluations_.size() <= kCoursePointsMax) return;
  std::vector<Evaluation> fewer;
  for (std::size_t i = evaluations_.size() % 2; i < evaluations_.size(); i += 2)
    fewer.push_back(evaluations_[i + 1 < evaluations_.size() ? i + 1 : i]);
  evaluations_ = std::move(fewer);
  ++generation_;
}

}  // namespace kimesh
