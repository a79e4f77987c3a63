// Estimates the rate β and the fixed cost a of a link from its own traffic: a message of S bytes
// takes T(S) = a + S/β. It reads no clock and no declared rate.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The relative error from which on β is a guess: nothing tells S/β from what else messages wait
// for.
inline constexpr double kErrorOfAGuess = 0.5;

struct LinkEstimate {
  double bytes_per_s = 0;     // β; 0: nothing known yet
  double relative_error = 1;  // one standard deviation of β, relative
  Duration fixed_cost{0};     // a; negative where a token bucket lets the first bytes pass at once
  bool lower_bound = true;    // the pipe was not filled lately: β may be far higher
  Duration round_trip{0};     // of an empty packet, which a holds; 0: not known
  [[nodiscard]] bool known() const { return bytes_per_s > 0; }
  // A lower bound that says nothing of how large a message may be.
  [[nodiscard]] bool is_a_guess() const { return lower_bound && relative_error >= kErrorOfAGuess; }
  // a + S/β, never negative; 0 while nothing is known.
  [[nodiscard]] Duration time_of(std::size_t bytes) const;
  // What the far node waits for besides S/β: a less half a round trip, which is the way of the ack
  // back. Never negative.
  [[nodiscard]] Duration way() const;
};

// The estimator of one link. Pure. Thread: the core's.
//  1. β: Kalman filter on ln(tail_bytes / tail_time), measurement noise by bytes, chunks and time;
//     only samples with at least 4 chunks and 2 ms of tail. One reading far off is held back, a
//     second one on the same side is believed. Sender-limited samples are left out altogether.
//  2. (a, 1/β): weighted least squares over the last 12 (bytes, elapsed), recent ones heavier,
//     errors relative to the time. The round trip of an empty packet is a known part of a. The
//     rest of a starts from 0 with the least elapsed, without the round trip, as its deviation, and
//     1/β from the value of step 1. A message that followed another tells nothing of a.
//     Where nothing tells the rest of a from S/β, β is S/T without the round trip: a lower bound.
//  3. A time over 35 % above the prediction resets both at once; two in a row under −20 % too.
//     When the next time fits the model from before the reset, that one returns: a hiccup. A
//     message of which the receiver read all chunks at once resets nothing, and between the two
//     models it decides nothing: it waited for a core. One that was late only behind the message
//     before it is left out: a wait counts once.
//  4. lower_bound, unless one of the last 12 messages filled the pipe (its tail is no shorter
//     than the a that elapsed leaves), or sizes differ enough for 2 to tell β to 15 % by itself
//     and S/β is twice a.
//  5. a is at most the least time of the last 16 messages, whatever was reset since: where links
//     share an interface a message may wait for those of others, which is no cost of its link.
// Source: Kalman 1960. Errors behind token buckets: docs/figures.md.
class LinkEstimator {
 public:
  void add(const LinkSample& told);
  [[nodiscard]] LinkEstimate estimate() const;

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.model_, self.before_, self.held_, self.has_left_out_, self.last_was_fast_,
                    self.round_trip_, self.recent_s_, self.next_recent_);
  }
  [[nodiscard]] bool is_sound() const { return next_recent_ < recent_s_.size(); }

 private:
  struct Point {
    double bytes = 0, seconds = 0;
    double round_trip_s = 0;  // a part of `seconds`; 0 where the message followed another
    bool followed = false;
    [[nodiscard]] double rest_s() const;  // what is not the round trip; never negative
    // The same, as a bound of other times: positive, and no less than the error of a time.
    [[nodiscard]] double rest_bound_s() const;
    template <typename Self>
    static auto state_of(Self& self) {
      return std::tie(self.bytes, self.seconds, self.round_trip_s, self.followed);
    }
  };
  // Samples: long enough to tell a from S/β, short enough to follow a step.
  static constexpr std::size_t kWindow = 12;
  // Messages of a few rounds, of which one at least has hardly waited for others.
  static constexpr std::size_t kRecent = 16;

  struct Model {
    std::optional<double> log_rate;  // ln(bytes/s)
    double variance = 1;
    double grain = 0;  // relative error by segments in the last tail; it does not average out
    double held = 0;   // an innovation that was held back, 0: none
    std::array<Point, kWindow> points{};
    std::size_t count = 0, next = 0;
    double rest_s = 0;  // a without the round trip
    double per_byte_s = 0;
    double relative_error = 1;
    bool slope_seen = false;      // the fit itself tells β
    unsigned unfilled = kWindow;  // samples in a row that did not fill the pipe

    void take(const LinkSample& sample);

    template <typename Self>
    static auto state_of(Self& self) {
      return std::tie(self.log_rate, self.variance, self.grain, self.held, self.points, self.count,
                      self.next, self.rest_s, self.per_byte_s, self.relative_error, self.slope_seen,
                      self.unfilled);
    }
    [[nodiscard]] bool is_sound() const {
      return count <= kWindow && next < kWindow && (count == 0 || per_byte_s > 0);
    }

   private:
    void filter(const LinkSample& sample, bool filled);
    void fit();
    void solve(double least_s, std::optional<double> noise);
    [[nodiscard]] double noise_seen() const;
    [[nodiscard]] double off_by(const Point& p) const;
    [[nodiscard]] const Point& point(std::size_t age) const;  // 0: the last
  };
  enum class Timing { kAsExpected, kBehind, kLate, kSlow, kFast };
  static Timing timing_of(const Model& model, const LinkSample& sample);
  [[nodiscard]] double least_recent_s() const;

  Model model_;
  std::optional<Model> before_;  // the model before a reset, until the new one has proved itself
  // The last sample, if it was too fast and is not in the model. One such sample is not believed,
  // since short times weigh most. A later one that does not follow at once is taken: then the model
  // is wrong about some sizes.
  std::optional<LinkSample> held_;
  // Whether a sample that was too fast was left out since two in a row last reset the model.
  bool has_left_out_ = false;
  bool last_was_fast_ = false;
  Duration round_trip_{0};
  std::array<double, kRecent> recent_s_{};  // elapsed, by whichever model; 0: none yet
  std::size_t next_recent_ = 0;
};

}  // namespace kimesh
