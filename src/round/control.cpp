#include "kimesh/round/control.h"

#include <algorithm>

namespace kimesh {

namespace {

double value_at(std::span<const double> values, std::size_t index) {
  return index < values.size() ? values[index] : 0;
}

// More bytes than any message has; keeps conversions to integers defined, whatever a peer sent.
constexpr double kLimitMax = 1e15;
double limit_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value > 0 ? std::min(value, kLimitMax) : 0;
}

// Longer than any gradient or evaluation, for the same reason.
constexpr double kSecondsMax = 1e6;
double seconds_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value > 0 ? std::min(value, kSecondsMax) : 0;
}

// Rounds travel as doubles, which hold every 32-bit number exactly, and one higher: 0 is none.
double from_round(Round round) {
  return round == kNoRound ? 0 : static_cast<double>(round) + 1;
}
Round round_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value >= 1 && value <= kNoRound ? static_cast<Round>(value - 1) : kNoRound;
}

}  // namespace

void ControlVector::merge(const ControlVector& other) {
  nodes += other.nodes;
  loss += other.loss;
  correct += other.correct;
  samples += other.samples;
  test_loss += other.test_loss;
  compute_s = std::max(compute_s, other.compute_s);
  evaluate_s = std::max(evaluate_s, other.evaluate_s);
  gather_limit = tighter_limit(gather_limit, other.gather_limit);
  stop_wish = std::max(stop_wish, other.stop_wish);
}

double tighter_limit(double a, double b) {
  if (a > 0 && b > 0) return std::min(a, b);
  return std::max(a, b);
}

Control gather_limit_to_control(double limit) {
  return {limit};
}

double gather_limit_from_control(std::span<const double> values) {
  return limit_at(values, 0);
}

Control ControlVector::to_control() const {
  return {nodes, loss, compute_s, gather_limit, evaluate_s, correct, samples, test_loss, stop_wish};
}

ControlVector ControlVector::from_control(std::span<const double> v) {
  ControlVector vector;
  vector.nodes = value_at(v, 0);
  vector.loss = value_at(v, 1);
  vector.compute_s = seconds_at(v, 2);
  vector.gather_limit = limit_at(v, 3);
  vector.evaluate_s = seconds_at(v, 4);
  vector.correct = value_at(v, 5);
  vector.samples = value_at(v, 6);
  vector.test_loss = value_at(v, 7);
  vector.stop_wish = value_at(v, 8);
  return vector;
}

Control Verdict::to_control() const {
  return {loss,
          compute_s,
          from_round(accuracy_round),
          accuracy_round == kNoRound ? 0 : accuracy,
          test_loss,
          evaluate_s,
          from_round(closing_round),
          static_cast<double>(reason),
          stop ? 1.0 : 0.0};
}

Verdict Verdict::from_control(std::span<const double> v) {
  Verdict verdict;
  verdict.loss = value_at(v, 0);
  verdict.compute_s = seconds_at(v, 1);
  verdict.accuracy_round = round_at(v, 2);
  if (verdict.accuracy_round != kNoRound) verdict.accuracy = value_at(v, 3);
  verdict.test_loss = value_at(v, 4);
  verdict.evaluate_s = seconds_at(v, 5);
  verdict.closing_round = round_at(v, 6);
  const double reason = value_at(v, 7);
  const bool known = reason >= 0 && reason <= static_cast<double>(StopReason::kLoss);
  verdict.reason = known ? static_cast<StopReason>(static_cast<int>(reason)) : StopReason::kNone;
  verdict.stop = value_at(v, 8) != 0;
  return verdict;
}

}  // namespace kimesh
