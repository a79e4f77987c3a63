// How bytes flow through simulated links: one message at a time on each link, rates shared max-min
// where nodes have an uplink or a downlink. Exact in time: no ticks, only changes of rates.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kimesh/bandwidth/sharing.h"
#include "kimesh/config/topology_file.h"
#include "kimesh/util/ids.h"

namespace kimesh {

class Fluid {
 public:
  // Groups are the shared capacities, bytes/s; a link names up to two of them.
  struct LinkShape {
    std::optional<RateTrace>
        rate;  // nothing: only the groups bound it; without groups it takes no time
    std::array<std::uint32_t, 2> groups{kNoGroup, kNoGroup};
  };
  Fluid(std::vector<LinkShape> links, std::vector<double> group_bytes_per_s);

  // A message of `bytes` begins on an idle link. `mark` <= bytes: the moment when so many have left
  // is remembered.
  void begin(double now, LinkIndex link, double bytes, double mark);
  void cancel(double now, LinkIndex link);
  [[nodiscard]] bool busy(LinkIndex link) const { return flows_[link].active; }

  // The earliest end or change of a rate; infinity when nothing flows.
  [[nodiscard]] double next() const;

  struct End {
    LinkIndex link;
    double seconds;       // when the last byte left
    double mark_seconds;  // when the byte `mark` left
  };
  // Moves to `now` >= every earlier one, and lists the messages that ended by then.
  void advance(double now, std::vector<End>& ended);

  // Emulated rate at `now`, bytes/s, without sharing; infinity where none.
  [[nodiscard]] double rate(LinkIndex link, double now) const;

 private:
  struct FlowState {
    bool active = false;
    double left = 0, mark_left = 0;  // bytes
    double rate = 0;                 // bytes/s in force
    double mark_seconds = 0;
    double event = std::numeric_limits<double>::infinity();  // its end or its trace's next change
  };
  struct HeapItem {
    double at;
    LinkIndex link;
    std::uint32_t version;
    bool operator<(const HeapItem& other) const { return at > other.at; }
  };
  [[nodiscard]] bool grouped(LinkIndex link) const {
    return links_[link].groups[0] != kNoGroup || links_[link].groups[1] != kNoGroup;
  }
  void progress(LinkIndex link, double now);
  void schedule(LinkIndex link);
  void share();
  void set_own_rate(LinkIndex link);

  std::vector<LinkShape> links_;
  std::vector<double> groups_;
  std::vector<FlowState> flows_;
  std::vector<double> since_;  // by link: the time up to which `left` is right
  std::vector<std::uint32_t> versions_;
  std::vector<HeapItem> heap_;
  std::vector<LinkIndex> active_grouped_;
  double now_ = 0;
};

}  // namespace kimesh
