// A fluid model of emulated links: how fast what is being sent leaves each of them. Exact in time:
// no ticks, only changes of rates. Pure: time is an argument.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kimesh/emulation/max_min.h"
#include "kimesh/emulation/rate_trace.h"

namespace kimesh {

// Links that carry one transmission each at a time. A link's rate is its trace's, at most its
// max-min share of the capacities that it crosses; a change of any rate is felt in
// mid-transmission.
//
// Times are doubles since an origin of the caller's, in the caller's unit: whole nanoseconds stay
// exact for a driver on the steady clock, seconds for a simulator. Nothing accumulates: the end of
// a transmission is computed from where it began, and anew only when its rate changes.
// Thread: one at a time.
class FluidLinks {
 public:
  struct Link {
    // bits/s. Nothing: the groups alone bound the link; without groups it takes no time.
    std::optional<RateTrace> rate;
    // Up to two shared capacities that the link crosses: its node's uplink, the far node's
    // downlink.
    std::array<std::uint32_t, 2> groups{kNoGroup, kNoGroup};
  };
  // `time_units_per_s`: 1 where the caller counts seconds, 1e9 where nanoseconds. Second 0 of the
  // traces is time 0.
  FluidLinks(std::vector<Link> links, const std::vector<double>& group_bits_per_s,
             double time_units_per_s);

  // Second 0 of the traces is `now` from here on. What is being sent goes on at the new rates.
  void restart_traces(double now);

  // A transmission begins on an idle link. `mark_bits` <= `bits`: the time at which so many have
  // left is told with the end.
  void begin(double now, std::size_t link, double bits, double mark_bits = 0);
  // Drops what the link sends, if anything.
  void cancel(double now, std::size_t link);

  // The earliest end or change of a rate; infinity: nothing changes by itself.
  [[nodiscard]] double next() const;

  struct End {
    std::size_t link;
    double at;       // when the last bit left
    double mark_at;  // when the bit `mark_bits` left
  };
  // Moves to `now` >= every earlier one, and appends the transmissions that ended by then. A caller
  // that begins another where one ended advances to next() each time.
  void advance(double now, std::vector<End>& ended);

  // Emulated rate of the link alone, without sharing, bits/s; infinity where none is set.
  [[nodiscard]] double own_rate_bits_per_s(std::size_t link, double now) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
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
    double ends_at = 0, mark_at = 0;
  };
  struct Event {
    double at;
    std::size_t link;
    std::uint32_t version;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  [[nodiscard]] bool shared(std::size_t link) const {
    return links_[link].groups[0] != kNoGroup || links_[link].groups[1] != kNoGroup;
  }
  [[nodiscard]] double trace_seconds(double now) const;
  void follow_trace(std::size_t link, double seconds);
  void settle(State& state) const;
  void set_rate(std::size_t link, double rate);
  void share_out(std::size_t link);
  void share_groups();
  void schedule(std::size_t link);
  void stop(std::size_t link);
  void drop_void_events();

  std::vector<Link> links_;
  std::vector<double> groups_;  // capacities, bits per unit of time
  double units_per_s_;
  double trace_start_ = 0;
  std::vector<State> states_;
  std::vector<Event> events_;  // by std::push_heap; the front is never void
  std::vector<std::size_t> sending_shared_;
  double now_ = 0;
};

}  // namespace kimesh
