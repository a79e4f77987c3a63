// A fluid model of emulated links: how fast the bits of a transmission leave each link. It is exact
// in time, since it knows changes of rates and no ticks. Pure: time is an argument.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kimesh/emulation/max_min.h"
#include "kimesh/emulation/rate_trace.h"

namespace kimesh {

// How a transmission takes part in what its link shares.
struct Flowing {
  double weight = 1;                                            // max_min.h
  double bits_per_s = std::numeric_limits<double>::infinity();  // its sender keeps to that
};

// Links, each of which carries one transmission at a time. A link's rate is that of its trace, at
// most its max-min share of the capacities that it crosses; a change of any rate affects
// transmissions that have begun.
//
// Times are doubles, counted from the caller's origin in the caller's unit: nanoseconds for a
// driver on the steady clock, where whole ones stay exact, seconds for a simulator. Errors do not
// accumulate: the end of a transmission is computed from its begin, and anew only when its rate
// changes. Thread: one at a time.
class FluidLinks {
 public:
  struct Link {
    // bits/s. Nothing: only the groups bound the link; without groups a transmission takes no time.
    std::optional<RateTrace> rate;
    // Up to two shared capacities that the link crosses: its node's uplink, the far node's
    // downlink.
    std::array<std::uint32_t, 2> groups{kNoGroup, kNoGroup};
    // A token bucket: what the link saves up of its rate while it sends less, and may then send as
    // fast as the groups allow. Full at time 0. Means nothing without a rate.
    double bucket_bits = 0;
  };
  // A capacity that links share, with a token bucket as a link has one. While the bucket holds
  // tokens, what crosses the group goes at kLineBitsPerS.
  struct Group {
    double bits_per_s = 0;
    double bucket_bits = 0;
  };
  // `time_units_per_s`: 1 where the caller counts seconds, 1e9 where nanoseconds. Second 0 of the
  // traces is time 0.
  FluidLinks(std::vector<Link> links, const std::vector<Group>& groups, double time_units_per_s);

  // Makes `now` second 0 of the traces. Transmissions continue at the new rates.
  void restart_traces(double now);

  // Begins a transmission of `bits` on an idle link. End::mark_at is the time at which the first
  // `mark_bits` <= `bits` of them have left.
  void begin(double now, std::size_t link, double bits, double mark_bits = 0, Flowing flowing = {});
  // Drops the transmission of the link, if there is one.
  void cancel(double now, std::size_t link);

  // The bits of the link's transmission that have not left by `now`, which is no earlier than the
  // last call's and no later than next(); 0: there is none.
  [[nodiscard]] double left_bits(double now, std::size_t link) const;

  // The time of the earliest end or change of a rate; infinity: there is none.
  [[nodiscard]] double next() const;
  // The group has so many bits/s from `now` on, as when something else begins or ends to use it.
  void set_capacity(double now, std::uint32_t group, double bits_per_s);

  struct End {
    std::size_t link;
    double at;       // when the last bit left
    double mark_at;  // when the bit `mark_bits` left
  };
  // Moves to `now`, which never decreases, and appends the transmissions that ended by then. A
  // caller that begins a transmission where one ended advances to next() each time.
  void advance(double now, std::vector<End>& ended);

  // The link's own emulated rate, without sharing, bits/s; infinity where none is set.
  [[nodiscard]] double own_rate_bits_per_s(std::size_t link, double now) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Faster than any capacity that is shaped by a bucket is worth emulating.
  static constexpr double kLineBitsPerS = 10e9;
  // Rates here are bits per unit of time.
  struct State {
    bool sending = false;
    double event_at = kInfinity;     // of its entry in the heap,
    std::uint32_t version = 0;       // which says this; older entries are void
    double own_rate = kInfinity;     // its trace's
    double change_s = kInfinity;     // when that changes, in the trace's seconds
    double rate = 0;                 // in force; negative: none given yet
    double since = 0;                // when that was set,
    double left = 0, mark_left = 0;  // and the bits that were left then
    double weight = 1;               // of this transmission,
    double pace = kInfinity;         // and the rate that its sender keeps to
    double ends_at = 0, mark_at = 0;
    double tokens = 0, tokens_at = 0;  // bits in the bucket, and when they were counted
    double empty_at = kInfinity;       // when what is being sent has used them up
  };
  struct Shared {
    double rate = 0, bucket = 0;       // as Group has them
    double tokens = 0, tokens_at = 0;  // bits in the bucket, and when they were counted
    double used = 0;                   // the rate of all that crosses it, since then
    double empty_at = kInfinity;
  };
  struct Event {
    double at;
    std::size_t link;
    std::uint32_t version;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  [[nodiscard]] bool shared(std::size_t link) const {
    return links_[link].groups[0] != kNoGroup || links_[link].groups[1] != kNoGroup ||
           states_[link].pace < kInfinity;
  }
  [[nodiscard]] double trace_seconds(double now) const;
  void follow_trace(std::size_t link, double seconds);
  void settle(State& state) const;
  void count_tokens(std::size_t link);
  [[nodiscard]] double tokens_saved_since(const State& state, const Link& link) const;
  [[nodiscard]] double cap(const State& state) const;
  void send_burst(State& state) const;
  void set_rate(std::size_t link, double rate);
  void share_out(std::size_t link);
  void share_groups();
  void count_tokens(Shared& group) const;
  [[nodiscard]] double next_empty_group() const;
  void schedule(std::size_t link);
  void stop(std::size_t link);
  void drop_void_events();

  std::vector<Link> links_;
  std::vector<Shared> groups_;
  double units_per_s_;
  double trace_start_ = 0;
  std::vector<State> states_;
  std::vector<Event> events_;  // by std::push_heap; the front is never void
  std::vector<std::size_t> sending_shared_;
  double now_ = 0;
};

}  // namespace kimesh
