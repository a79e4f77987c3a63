#include "kimesh/round/control.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// The offer's place among the values of a control vector.
constexpr std::size_t kOfferBegins = 12;
// Behind it; values that are seldom set come last.
constexpr std::size_t kCheckpointsBegin = 22;

// Dense messages have 32 bits an element.
double bits_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value > 0 ? std::min(value, kBitsOfDense) : 0;
}

// Sums are never negative; what is no such number counts as 0. No energy or delay of a run comes
// near the limits, between which their sums and ratios stay finite.
constexpr double kSumMin = 1e-100, kSumMax = 1e100;
double sum_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value >= kSumMin && value <= kSumMax ? value : 0;
}

// A round travels as its number plus one; 0 means that there is none.
double from_round(Round round) {
  return round == kNoRound ? 0 : static_cast<double>(round) + 1;
}
Round round_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value >= 1 && value <= kNoRound ? static_cast<Round>(value - 1) : kNoRound;
}

// A value that cannot be a mean of multiples counts as 1.
double multiple_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  return value > 1 && value <= kMultipleMax ? value : 1;
}

std::uint64_t lineage_at(std::span<const double> values, std::size_t index) {
  const double value = value_at(values, index);
  const bool is_one = value >= 1 && value <= static_cast<double>(kLineageMax);
  return is_one ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

double as_float(double value) {
  using Float = std::numeric_limits<float>;
  const bool is_in_range = std::abs(value) >= Float::min() && std::abs(value) <= Float::max();
  return is_in_range ? static_cast<double>(static_cast<float>(value)) : value;
}

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
  offer.merge(other.offer);
  if (other.checkpoint_held < checkpoint_held)
    held_lineage = other.held_lineage;
  else if (other.checkpoint_held == checkpoint_held && other.held_lineage != held_lineage)
    held_lineage = kMixedLineages;
  checkpoint_held = std::min(checkpoint_held, other.checkpoint_held);
  checkpoint_wish = std::max(checkpoint_wish, other.checkpoint_wish);
  step_s = std::max(step_s, other.step_s);
  multiple += other.multiple;
  room_for_even_messages = tighter_limit(room_for_even_messages, other.room_for_even_messages);
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
  Control control{nodes,
                  as_float(loss),
                  as_float(compute_s),
                  gather_limit,
                  as_float(room_for_even_messages),
                  as_float(step_s),
                  multiple,
                  as_float(evaluate_s),
                  correct,
                  samples,
                  test_loss,
                  stop_wish,
                  as_float(offer.weight)};
  control[kOfferBegins + 1] = as_float(offer.least_s);
  control[kOfferBegins + 2] = as_float(offer.agreement);
  control[kOfferBegins + 3] = as_float(offer.agreement_weight);
  control[kOfferBegins + 4] = as_float(offer.most_s);
  std::ranges::transform(offer.delay, control.begin() + kOfferBegins + 5, as_float);
  control[kCheckpointsBegin] = checkpoint_held;
  control[kCheckpointsBegin + 1] = checkpoint_wish;
  control[kCheckpointsBegin + 2] = as_float(offer.coding_s);
  control[kCheckpointsBegin + 3] = static_cast<double>(held_lineage);
  control[kCheckpointsBegin + 4] = as_float(offer.smallest_s);
  return control;
}

ControlVector ControlVector::from_control(std::span<const double> v) {
  ControlVector vector;
  vector.nodes = value_at(v, 0);
  vector.loss = value_at(v, 1);
  vector.compute_s = seconds_at(v, 2);
  vector.gather_limit = limit_at(v, 3);
  vector.room_for_even_messages = bits_at(v, 4);
  vector.step_s = seconds_at(v, 5);
  vector.multiple = sum_at(v, 6);
  vector.evaluate_s = seconds_at(v, 7);
  vector.correct = value_at(v, 8);
  vector.samples = value_at(v, 9);
  vector.test_loss = value_at(v, 10);
  vector.stop_wish = value_at(v, 11);
  vector.offer.weight = sum_at(v, kOfferBegins);
  vector.offer.least_s = seconds_at(v, kOfferBegins + 1);
  vector.offer.agreement = sum_at(v, kOfferBegins + 2);
  vector.offer.agreement_weight = sum_at(v, kOfferBegins + 3);
  vector.offer.most_s = seconds_at(v, kOfferBegins + 4);
  for (std::size_t f = 0; f < vector.offer.delay.size(); ++f)
    vector.offer.delay[f] = sum_at(v, kOfferBegins + 5 + f);
  vector.checkpoint_held = from_round(round_at(v, kCheckpointsBegin));
  vector.checkpoint_wish = value_at(v, kCheckpointsBegin + 1);
  vector.offer.coding_s = seconds_at(v, kCheckpointsBegin + 2);
  vector.held_lineage = lineage_at(v, kCheckpointsBegin + 3);
  vector.offer.smallest_s = seconds_at(v, kCheckpointsBegin + 4);
  return vector;
}

Control Verdict::to_control() const {
  return {as_float(loss),
          as_float(compute_s),
          as_float(exchange_s),
          from_round(accuracy_round),
          accuracy_round == kNoRound ? 0 : accuracy,
          test_loss,
          as_float(evaluate_s),
          as_float(even_bits),
          from_round(closing_round),
          static_cast<double>(reason),
          stop ? 1.0 : 0.0,
          static_cast<double>(ahead),
          as_float(step_s),
          local_steps > 1 ? static_cast<double>(local_steps) : 0.0,
          mean_multiple > 1 ? mean_multiple : 0.0,
          from_round(checkpoint_round),
          from_round(checkpoint_held),
          static_cast<double>(lineage),
          static_cast<double>(held_lineage)};
}

Verdict Verdict::from_control(std::span<const double> v) {
  Verdict verdict;
  verdict.loss = value_at(v, 0);
  verdict.compute_s = seconds_at(v, 1);
  verdict.exchange_s = seconds_at(v, 2);
  verdict.accuracy_round = round_at(v, 3);
  if (verdict.accuracy_round != kNoRound) verdict.accuracy = value_at(v, 4);
  verdict.test_loss = value_at(v, 5);
  verdict.evaluate_s = seconds_at(v, 6);
  verdict.even_bits = bits_at(v, 7);
  verdict.closing_round = round_at(v, 8);
  const double reason = value_at(v, 9);
  const bool known = reason >= 0 && reason <= static_cast<double>(StopReason::kLoss);
  verdict.reason = known ? static_cast<StopReason>(static_cast<int>(reason)) : StopReason::kNone;
  verdict.stop = value_at(v, 10) != 0;
  const double ahead = value_at(v, 11);
  const bool is_mode = ahead >= 0 && ahead <= static_cast<double>(Ahead::kOverlaps);
  verdict.ahead = is_mode ? static_cast<Ahead>(static_cast<int>(ahead)) : Ahead::kNo;
  verdict.step_s = seconds_at(v, 12);
  const double steps = value_at(v, 13);
  const bool is_number = steps >= 1 && steps <= kLocalStepsMax;
  verdict.local_steps = is_number ? static_cast<unsigned>(steps) : 1;
  verdict.mean_multiple = multiple_at(v, 14);
  verdict.checkpoint_round = round_at(v, 15);
  verdict.checkpoint_held = round_at(v, 16);
  verdict.lineage = lineage_at(v, 17);
  verdict.held_lineage = lineage_at(v, 18);
  return verdict;
}

}  // namespace kimesh
