// A shaper at the sender: it decides when a frame has left an emulated link. Pure: time is an
// argument.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kimesh/emulation/fluid_links.h"
#include "kimesh/emulation/link_spec.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Several links that share one uplink. A frame occupies its link for bytes·8/rate, less what the
// link's token bucket lets pass at once; links share the uplink max-min, and a change of any rate
// is felt in mid-frame. The frame arrives `delay` after its last bit has left. A link without a
// rate is bounded by the uplink alone; without an uplink its frames leave at once. A time before
// the latest one given, or before `start`, counts as that one. Thread: one at a time.
class Shaper {
 public:
  // `start` is second 0 of the traces.
  Shaper(std::vector<LinkSpec> links, std::optional<double> uplink_bits_per_s, TimePoint start);

  // Makes `start` second 0 of the traces, so that the traces of several nodes begin with the run
  // instead of with each process. Frames that are leaving continue at the new rates. A `start`
  // before the latest time given counts as that time.
  void start_traces(TimePoint start);

  // Queues a frame of `bytes` bytes with the caller's tag on link `index`. It is due at `now` at
  // the earliest.
  void push(TimePoint now, std::size_t index, std::size_t bytes, std::uint64_t tag);
  // Drops the frames of a link that are queued or on their way, after its connection was lost.
  void clear(TimePoint now, std::size_t index);

  struct Release {
    std::size_t index;
    std::uint64_t tag;
    TimePoint at;
  };
  // Appends the frames that are due by `now`, in order of their time. Frames of one link keep their
  // order.
  void take_due(TimePoint now, std::vector<Release>& due);
  // The next time at which take_due has work; nothing: not before a frame is pushed. It is later
  // than the latest time given, unless frames are due already.
  [[nodiscard]] std::optional<TimePoint> next() const;
  // Frames that have not left at `now`; not those on their way.
  [[nodiscard]] std::size_t queued(TimePoint now, std::size_t index);
  // Emulated rate: the link's own, at most the uplink; infinity where neither is set.
  [[nodiscard]] double rate_bits_per_s(std::size_t index, TimePoint now) const;

 private:
  struct Frame {
    std::size_t bytes;
    std::uint64_t tag;
  };
  struct Flight {
    std::uint64_t tag;
    TimePoint at;
  };
  struct Queue {
    std::deque<Frame> frames;    // the first is leaving
    std::deque<Flight> flights;  // left, not yet arrived
  };
  void advance_to(double at_ns);
  void begin_frame(std::size_t index);
  [[nodiscard]] double since_start_ns(TimePoint time) const;
  [[nodiscard]] TimePoint at(double whole_ns) const;

  std::vector<LinkSpec> specs_;
  std::vector<Queue> queues_;  // by link, as specs_
  // Times in nanoseconds since start_: exact where they come from a caller, with errors far below 1
  // ns where they come from a rate.
  FluidLinks fluid_;
  std::vector<FluidLinks::End> ended_;
  std::optional<double> uplink_bits_per_s_;
  TimePoint start_;
  double now_ns_ = 0;
};

}  // namespace kimesh
