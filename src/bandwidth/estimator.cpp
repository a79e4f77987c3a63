#include "kimesh/bandwidth/estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kimesh {
namespace {

// A tail gives the rate only when it is long against the errors of arrival times.
constexpr std::uint16_t kTailChunksMin = 4;
// Kalman filter: how far a link's rate wanders from one message to the next, relative.
constexpr double kWander = 0.05;
// An innovation of more standard deviations than this is held back once.
constexpr double kHoldSigmas = 3;
// Arrivals are stamped late by about this much on a busy machine.
constexpr double kJitterSeconds = 0.0005;
// Chunks may arrive together in one TCP segment.
constexpr double kSegmentBytes = 1448;
// Times vary by this share from message to message.
constexpr double kTimeError = 0.03;
// The least share of kTimeError that is assumed, however well a few points fit, and the most: where
// processes wait for a core times scatter by many times kTimeError.
constexpr double kNoiseMin = 0.2, kNoiseMax = 50;
constexpr double kSigmaPerMeanAbsolute = 1.25;  // ratio of a normal distribution
// Points of more standard deviations than this count less.
constexpr double kFarOff = 2;
// The weight of a sample relative to the next newer one.
constexpr double kForget = 0.85;
// Ratios of a time to its prediction beyond which the link counts as changed.
constexpr double kSlow = 1.35, kFast = 0.80;
// The fit alone gives β when its relative error is below this.
constexpr double kSlopeError = 0.15;
// What is not the round trip takes at least this share of a message's time, where it bounds others:
// a share below the error of a time says nothing.
constexpr double kRestShareMin = 0.05;
// 1/β is at least this share of the least that a message's time allows.
constexpr double kSlopeMin = 0.05;

bool tail_tells(const LinkSample& sample) {
  return sample.chunks >= kTailChunksMin && sample.tail_bytes > 0 &&
         to_seconds(sample.tail_time) >= kTailSecondsMin;
}

// The tail is half of the transfer: what is left of elapsed after two tails is the fixed cost. On a
// pipe that was not filled the tail shows round trips instead of the rate, and those are no longer
// than a.
bool fills_pipe(const LinkSample& sample) {
  return tail_tells(sample) &&
         (sample.followed || 3 * to_seconds(sample.tail_time) >= to_seconds(sample.elapsed));
}

// All chunks were there when the receiver came to read: it had waited for a core. One or two
// segments, which few chunks may be, come together on any link.
bool was_read_late(const LinkSample& sample) {
  return sample.chunks >= kTailChunksMin && sample.tail_bytes == 0;
}

// The standard deviation of ln(tail rate).
double tail_noise(const LinkSample& sample) {
  const double few_chunks =
      std::sqrt(static_cast<double>(kChunksPerMessage) / std::min<std::size_t>(sample.chunks, 8));
  return 0.02 + few_chunks * (kJitterSeconds / to_seconds(sample.tail_time) +
                              0.4 * kSegmentBytes / static_cast<double>(sample.tail_bytes));
}

// The seconds as a Duration, limited so that no sample of a peer makes it overflow.
Duration bounded(double seconds) {
  constexpr double kForever = 1e9;
  return from_seconds(std::clamp(seconds, -kForever, kForever));
}

double time_error(double seconds) {
  return kTimeError * seconds + kJitterSeconds;
}

// Sums of weighted least squares for seconds = a·x + b·bytes, where x is 1, or 0 for followed
// messages.
struct Normal {
  double xx = 0, xs = 0, ss = 0, xt = 0, st = 0;

  void add(double weight, double x, double bytes, double seconds) {
    xx += weight * x * x;
    xs += weight * x * bytes;
    ss += weight * bytes * bytes;
    xt += weight * x * seconds;
    st += weight * bytes * seconds;
  }
  [[nodiscard]] double determinant() const { return xx * ss - xs * xs; }
  [[nodiscard]] double fixed() const { return (ss * xt - xs * st) / determinant(); }
  [[nodiscard]] double per_byte() const { return (xx * st - xs * xt) / determinant(); }
  [[nodiscard]] double relative_error() const { return std::sqrt(xx / determinant()) / per_byte(); }
};

}  // namespace

Duration LinkEstimate::time_of(std::size_t bytes) const {
  if (!known()) return Duration{0};
  const double seconds = to_seconds(fixed_cost) + static_cast<double>(bytes) / bytes_per_s;
  return bounded(std::max(seconds, 0.0));
}

Duration LinkEstimate::way() const {
  return std::max(fixed_cost - round_trip / 2, Duration{0});
}

const LinkEstimator::Point& LinkEstimator::Model::point(std::size_t age) const {
  return points[(next + kWindow - 1 - age) % kWindow];
}

void LinkEstimator::Model::filter(const LinkSample& sample, bool filled) {
  const double reading =
      std::log(static_cast<double>(sample.tail_bytes) / to_seconds(sample.tail_time));
  // A reading of an unfilled pipe is still the best there is, but says little against better ones.
  const double noise = tail_noise(sample) + (filled ? 0.0 : 0.2);
  grain = 0.25 * kSegmentBytes / static_cast<double>(sample.tail_bytes);
  const double noise_variance = noise * noise;
  if (!log_rate) {
    log_rate = reading;
    variance = noise_variance;
    return;
  }
  variance += kWander * kWander;
  const double innovation = reading - *log_rate;
  if (std::abs(innovation) > kHoldSigmas * std::sqrt(variance + noise_variance)) {
    const bool again = held * innovation > 0;
    held = again ? 0 : innovation;
    if (!again) return;
    variance = 1;
    count = std::min<std::size_t>(count, 2);  // older times are of the old rate
  } else {
    held = 0;
  }
  const double gain = variance / (variance + noise_variance);
  *log_rate += gain * innovation;
  variance *= 1 - gain;
}

void LinkEstimator::Model::take(const LinkSample& sample) {
  points[next] = {static_cast<double>(sample.bytes), to_seconds(sample.elapsed),
                  to_seconds(sample.round_trip), sample.followed};
  next = (next + 1) % kWindow;
  count = std::min(count + 1, kWindow);
  const bool filled = fills_pipe(sample);
  unfilled = filled ? 0 : std::min<unsigned>(unfilled + 1, kWindow);
  if (tail_tells(sample)) filter(sample, filled);
  fit();
}

double LinkEstimator::Point::rest_s() const {
  return seconds - round_trip_s;
}

double LinkEstimator::Point::rest_bound_s() const {
  return std::max(rest_s(), kRestShareMin * seconds);
}

double LinkEstimator::Model::off_by(const Point& p) const {
  const double predicted = (p.followed ? 0 : rest_s) + per_byte_s * p.bytes;
  return std::abs(predicted - p.rest_s()) / time_error(p.seconds);
}

void LinkEstimator::Model::fit() {
  double least_s = INFINITY, least_per_byte = INFINITY;
  for (std::size_t age = 0; age < count; ++age) {
    if (!point(age).followed) least_s = std::min(least_s, point(age).rest_bound_s());
    least_per_byte = std::min(least_per_byte, point(age).rest_bound_s() / point(age).bytes);
  }
  if (least_s == INFINITY) least_s = point(0).rest_bound_s();
  // The second pass knows how well the line of the first one fits, and which points lie far off.
  solve(least_s, std::nullopt);
  solve(least_s, noise_seen());

  const double least = kSlopeMin * least_per_byte;
  if (per_byte_s > least) return;
  per_byte_s = least;
  rest_s = least_s;
  relative_error = 1;
  slope_seen = false;
}

// How far the points lie off the line, in units of time_error. Mean absolute, which one hiccup
// hardly moves, and two points as uncertain as time_error says, against a lucky few.
double LinkEstimator::Model::noise_seen() const {
  double recency = 1, off = 0, weights = 0;
  for (std::size_t age = 0; age < count; ++age, recency *= kForget) {
    off += recency * off_by(point(age));
    weights += recency;
  }
  const double noise = std::clamp(kSigmaPerMeanAbsolute * off / weights, kNoiseMin, kNoiseMax);
  return (noise * static_cast<double>(count) + 2) / static_cast<double>(count + 2);
}

void LinkEstimator::Model::solve(double least_s, std::optional<double> noise) {
  Normal sums;
  double recency = 1, round_trip_s = 0;
  for (std::size_t age = 0; age < count; ++age, recency *= kForget) {
    const Point& p = point(age);
    round_trip_s = std::max(round_trip_s, p.round_trip_s);
    const double sigma = noise.value_or(1) * time_error(p.seconds);
    const double off = noise ? off_by(p) / *noise : 0;
    const double weight = recency / (sigma * sigma) * (off > kFarOff ? kFarOff / off : 1);
    sums.add(weight, p.followed ? 0 : 1, p.bytes, p.rest_s());
  }
  sums.add(1 / (least_s * least_s), 1, 0, 0);
  // Does the fit tell β by itself? And where S/β does not outweigh a, round trips may look like a
  // rate.
  slope_seen = sums.per_byte() > 0 && sums.relative_error() < kSlopeError &&
               sums.per_byte() * point(0).bytes >= 2 * (round_trip_s + sums.fixed());
  if (log_rate) {
    const double prior = std::exp(-*log_rate), sigma = (std::sqrt(variance) + grain) * prior;
    sums.add(1 / (sigma * sigma), 0, 1, prior);
  }
  rest_s = sums.fixed();
  per_byte_s = sums.per_byte();
  relative_error = std::min(sums.relative_error(), 1.0);
}

LinkEstimator::Timing LinkEstimator::timing_of(const Model& model, const LinkSample& sample) {
  const double rest_s = sample.followed ? 0 : model.rest_s;
  const double predicted =
      to_seconds(sample.round_trip) + rest_s + model.per_byte_s * static_cast<double>(sample.bytes);
  const double seconds = to_seconds(sample.elapsed);
  // Short messages are late or early by the jitter alone.
  if (seconds > kSlow * predicted + kJitterSeconds) {
    const double transfer_s = model.per_byte_s * static_cast<double>(sample.bytes);
    // The rest of the time was spent behind the message before and says nothing of this one.
    if (sample.since_ack && to_seconds(*sample.since_ack) <= transfer_s + kJitterSeconds)
      return Timing::kBehind;
    return was_read_late(sample) ? Timing::kLate : Timing::kSlow;
  }
  if (seconds < kFast * predicted - kJitterSeconds) return Timing::kFast;
  return Timing::kAsExpected;
}

void LinkEstimator::add(const LinkSample& told) {
  if (told.sender_limited || told.bytes == 0 || told.elapsed <= Duration{0}) return;
  if (told.round_trip > Duration{0}) round_trip_ = told.round_trip;
  // The round trip that `elapsed` holds is the last one known. The way may have changed since, so
  // that it may be longer than the message took.
  LinkSample sample = told;
  sample.round_trip = told.followed ? Duration{0} : std::min(round_trip_, told.elapsed);
  if (!sample.followed) {
    recent_s_[next_recent_] = to_seconds(sample.elapsed);
    next_recent_ = (next_recent_ + 1) % recent_s_.size();
  }
  const Timing timing = model_.count == 0 ? Timing::kAsExpected : timing_of(model_, sample);
  const bool is_behind =
      timing == Timing::kBehind || (before_ && timing_of(*before_, sample) == Timing::kBehind);
  if (is_behind) return;
  // A late reading says nothing of which of the two models is right.
  if (timing == Timing::kLate && before_) return;
  const bool fast_again = timing == Timing::kFast && std::exchange(last_was_fast_, true);
  if (timing != Timing::kFast) {
    last_was_fast_ = false;
    held_.reset();
  }

  if (timing == Timing::kAsExpected || timing == Timing::kLate) {
    before_.reset();
  } else if (before_ && timing_of(*before_, sample) == Timing::kAsExpected) {
    model_ = *before_;
    before_.reset();
    held_.reset();  // it was fast for the other model
    last_was_fast_ = false;
  } else if (timing == Timing::kSlow) {
    if (!before_) before_ = model_;
    model_ = Model{};
  } else if (fast_again) {
    model_ = Model{};
    if (held_) model_.take(*held_);
    held_.reset();
    has_left_out_ = last_was_fast_ = false;
  } else if (!std::exchange(has_left_out_, true)) {
    held_ = sample;
    return;
  }
  model_.take(sample);
}

double LinkEstimator::least_recent_s() const {
  double least_s = INFINITY;
  for (const double seconds : recent_s_)
    if (seconds > 0) least_s = std::min(least_s, seconds);
  return least_s;
}

LinkEstimate LinkEstimator::estimate() const {
  LinkEstimate estimate;
  if (model_.count == 0) return estimate;
  estimate.bytes_per_s = 1 / model_.per_byte_s;
  estimate.relative_error = model_.relative_error;
  estimate.fixed_cost =
      bounded(std::min(to_seconds(round_trip_) + model_.rest_s, least_recent_s()));
  estimate.round_trip = round_trip_;
  // A token bucket lets small messages pass at line speed: a rate that is nearly a guess is one.
  estimate.lower_bound =
      model_.relative_error >= kErrorOfAGuess || (model_.unfilled >= kWindow && !model_.slope_seen);
  return estimate;
}

}  // namespace kimesh
